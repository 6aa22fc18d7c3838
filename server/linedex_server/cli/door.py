"""The one door to the engine, opened when a command line has been understood.

Importing the engine takes some 300 ms, which `--help` and a mistyped option need not wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linedex.limits import Limits
from linedex_server.config import Settings

if TYPE_CHECKING:
    from linedex_server.cli.places import Places


def opened(settings: Settings, limits: Limits | None = None) -> Places:
    """Return the places that a command asks; `limits` are those of the settings when None."""
    from linedex_server.cli.places import Places  # noqa: PLC0415

    return Places(settings, limits)
