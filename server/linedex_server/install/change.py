"""One change of one settings file: shown as a diff first, and written whole or not at all.

Promise: a file is replaced only while it holds the very bytes that the change was made from; its mode stays, and where
it is a link, the file behind it is replaced. What is no UTF-8 is refused.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from linedex.errors import BadArgument, LinedexError, Unreadable

_MODE = 0o600
"""Of a file that is made: other entries of it may come to hold secrets."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written where; `before` is None when there is no file yet."""

    place: Path
    before: bytes | None
    after: bytes

    def __bool__(self) -> bool:
        return self.after != (self.before or b"")

    def diff(self) -> str:
        """Return the change as a unified diff, "" when there is none."""
        before, after = (_lines(content) for content in (self.before or b"", self.after))
        old = str(self.place) if self.before is not None else os.devnull
        made = difflib.unified_diff(before, after, old, str(self.place))
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)

    def write(self) -> None:
        """Write it.

        Raises:
            Unreadable: the file cannot be written.
            BadArgument: it was changed meanwhile.
        """
        target = Path(os.path.realpath(self.place))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, spare = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            try:
                with open(descriptor, "wb") as file:
                    file.write(self.after)
                    file.flush()
                    os.fsync(file.fileno())
                if _read(target) != self.before:
                    raise BadArgument(f"{self.place} was changed meanwhile.", "Try again.")
                os.chmod(spare, _MODE if self.before is None else target.stat().st_mode & 0o7777)
                os.replace(spare, target)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(spare)
        except OSError as error:
            raise Unreadable(f"{self.place} cannot be written: {error.strerror}.", "Mend its permissions.") from None


def change(place: Path, edit: Callable[[str], str]) -> Change:
    """Return the change that `edit` makes of the file at `place`; nothing is written.

    Args:
        place: the file; it need not be there.
        edit: turns its text, "" when there is none, into the new one.

    Raises:
        Unreadable: the file cannot be read.
        BadArgument: it is no UTF-8, or `edit` refuses it.
    """
    try:
        before = _read(place)
    except OSError as error:
        raise Unreadable(f"{place} cannot be read: {error.strerror}.", "Mend its permissions.") from None
    try:
        text = (before or b"").decode("utf-8")
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        after = mark + edit(text.removeprefix(mark))
    except UnicodeDecodeError as error:
        raise BadArgument(f"{place} is no UTF-8 at byte {error.start:,}.", "Mend it first.") from None
    except LinedexError as error:
        raise BadArgument(f"{place}: {error}", error.hint) from None
    return Change(place, before, after.encode("utf-8"))


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None


def _lines(content: bytes) -> list[str]:
    # not `splitlines`, which also splits at a lone CR and at U+2028
    return [f"{line}\n" for line in content.decode("utf-8").split("\n")[:-1]] + (
        [rest] if (rest := content.decode("utf-8").rpartition("\n")[2]) else []
    )
