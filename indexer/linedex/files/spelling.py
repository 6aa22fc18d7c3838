r"""Windows spellings of a path, as pure functions that any system can test.

Promise: paths that Windows takes for the same place come out as one spelling (`C:\dir\name`, `\\server\share\name`,
or relative), and a spelling that means something else than it seems (a device, a stream of another file, the working
folder of a drive) is refused with the reason. Case below the drive or share is kept: only the file system knows it.

Source: Microsoft, "Naming Files, Paths, and Namespaces" and "File path formats on Windows systems".
"""

from __future__ import annotations

import re

from linedex.errors import BadArgument

_VERBATIM = re.compile(r"^[\\/]{2}\?[\\/]")
_VERBATIM_SHARE = re.compile(r"^UNC\\", re.IGNORECASE)
_DRIVE = re.compile(r"^([A-Za-z]):")
_FORBIDDEN = re.compile(r'[<>"|?*\x00-\x1f]')
_SUPERSCRIPTS = str.maketrans("¹²³", "123")
_DEVICE_NAMES = frozenset({"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}) | frozenset(
    f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789"
)


def is_reserved(component: str) -> bool:
    """Say whether Windows takes this file name for a device, whatever its folder and extension (`nul.txt`, `COM¹`)."""
    stem = component.partition(".")[0].partition(":")[0].rstrip(" ")
    return stem.upper().translate(_SUPERSCRIPTS) in _DEVICE_NAMES


def normalise(path: str) -> str:
    r"""Return the one spelling of a Windows path: backslashes, no `\\?\`, upper-case drive, no `.` or `..` inside.

    A relative path stays relative, and keeps the `..` that lead above its start. Trailing dots and blanks of a name
    are dropped, as Windows drops them.

    Raises:
        BadArgument: the path names a device, an alternate stream, a drive's working folder, or nothing at all; the
            message says which.
    """
    verbatim = _VERBATIM.match(path) is not None
    rest = path[4:] if verbatim else path
    if verbatim and "/" in rest:
        # Behind the prefix a slash is an ordinary character, and no file system allows it in a name.
        raise _refused(path, r"behind `\\?\` a forward slash is part of a name, which no name can have")
    rest = rest.replace("/", "\\")
    if rest.startswith("\\??\\") or (not verbatim and re.match(r"^\\\\[.?](\\|$)", rest)):
        raise _refused(path, "it lies in the device namespace")
    if verbatim and _VERBATIM_SHARE.match(rest):
        anchor, components = _share(path, "\\\\" + rest[4:])
    elif not verbatim and rest.startswith("\\\\"):
        anchor, components = _share(path, rest)
    elif drive := _DRIVE.match(rest):
        if not rest.startswith("\\", 2):
            raise _refused(path, f"`{drive[0]}` without a backslash means the working folder of that drive")
        anchor, components = f"{drive[1].upper()}:\\", rest[3:].split("\\")
    elif verbatim:
        raise _refused(path, "it lies in the device namespace")
    elif rest.startswith("\\"):
        raise _refused(path, "it starts at the root of whatever drive is current")
    else:
        anchor, components = "", rest.split("\\")
    kept = _collapsed(path, components, verbatim=verbatim, relative=not anchor)
    return anchor + "\\".join(kept) or "."


def _share(path: str, rest: str) -> tuple[str, list[str]]:
    r"""Split `\\server\share\a\b`; names of servers and shares are the same in every case."""
    server, _, below = rest[2:].partition("\\")
    share, _, tail = below.partition("\\")
    if not server or not share or server in {".", "..", "?"} or share in {".", ".."}:
        raise _refused(path, r"a network path needs a server and a share (`\\server\share\...`)")
    for part in (server, share):
        if _FORBIDDEN.search(part) or ":" in part:
            raise _refused(path, f"`{part}` holds a character that Windows forbids")
    return f"\\\\{server.lower()}\\{share.lower()}\\", tail.split("\\")


def _collapsed(path: str, components: list[str], *, verbatim: bool, relative: bool) -> list[str]:
    kept: list[str] = []
    for component in components:
        if not component or component == ".":
            if verbatim and component:
                raise _refused(path, r"behind `\\?\` a `.` is a name of its own")
            continue
        if component == "..":
            if verbatim:
                raise _refused(path, r"behind `\\?\` a `..` is a name of its own")
            if kept and kept[-1] != "..":
                kept.pop()
            elif relative:
                kept.append("..")
            continue
        kept.append(_name(path, component, verbatim=verbatim))
    return kept


def _name(path: str, component: str, *, verbatim: bool) -> str:
    if ":" in component:
        raise _refused(path, f"`{component}` names an alternate stream of a file")
    if _FORBIDDEN.search(component):
        raise _refused(path, f"`{component}` holds a character that Windows forbids in names")
    if is_reserved(component):
        raise _refused(path, f"`{component}` is the name of a device")
    stripped = component.rstrip(". ")
    if not stripped:
        raise _refused(path, f"`{component}` is nothing but dots and blanks")
    if verbatim and stripped != component:
        # Such a name exists only behind the prefix; without it the same text would open another file.
        raise _refused(path, f"`{component}` ends in a dot or blank, which ordinary programs cannot open")
    return stripped


def _refused(path: str, reason: str) -> BadArgument:
    return BadArgument(
        f"Path `{path}` is refused: {reason}.", r"Give a plain path such as `C:\folder\name` or `\\server\share\name`."
    )
