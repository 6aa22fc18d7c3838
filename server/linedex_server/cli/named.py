"""What a person names at the command line: a file or a folder that is there, and how they call what is in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from linedex.errors import BadArgument, NotFound


@dataclass(frozen=True, slots=True)
class Named:
    """A file or a folder that a person named.

    Attributes:
        real: its real path.
        spelled: as they spelled it, b"" for the folder they stand in.
        is_folder: whether it is a folder.
    """

    real: Path
    spelled: bytes
    is_folder: bool


def named(path: str | None) -> Named:
    """Return what a person names by a path; None is the folder they stand in.

    Raises:
        NotFound: there is nothing there.
        BadArgument: it is no path, or names what is neither a file nor a folder.
    """
    if path == "-" and not Path(path).exists():
        raise BadArgument("Standard input is not read.", "Name a file or a folder.")
    real = existing(path or ".")
    is_folder = real.is_dir()
    if not is_folder and not real.is_file():
        raise BadArgument(f"`{path}` is neither a file nor a folder.", "Devices, pipes and sockets are not read.")
    return Named(real, os.fsencode(path or ""), is_folder)


def existing(path: str) -> Path:
    """Return the real path of what a person names.

    Raises:
        NotFound: there is nothing there, or a folder on the way cannot be entered.
        BadArgument: it is no path.
    """
    try:
        return Path(path).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        # RuntimeError is what 3.11 and 3.12 say of a loop of symbolic links.
        reason = error.strerror if isinstance(error, OSError) else "symbolic links go in a circle"
        raise NotFound(
            f"`{path}`: {reason}.", "Check the spelling; a relative path counts from the working folder."
        ) from None
    except ValueError:
        raise BadArgument("A path cannot hold a NUL character.", "Correct it.") from None


def called(spelled: bytes, scope: bytes, path: bytes) -> bytes:
    """Return how a person who spelled the file or folder `scope` as `spelled` calls `path`, at or below it."""
    below = path[len(scope) :].lstrip(b"/")
    if not spelled or not below:
        return spelled or below
    return (spelled if spelled.endswith(b"/") else spelled + b"/") + below
