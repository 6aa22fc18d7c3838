"""Named moments of a commit, at which tests may end the process or let a system call fail.

Promise: outside of tests nothing happens at them. A moment is named after what is about to be done, so that an error
raised there is met by the code that would meet the system's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Faults: TypeAlias = Callable[[str], None]
"""Called with the name of the step that comes next; may raise OSError or end the process."""


def none(step: str) -> None:
    """Let everything happen."""
