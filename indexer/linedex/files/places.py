"""Where a path that somebody wrote leads: the one judge of every path.

Promise: `Roots.resolve` turns any spelling (`..`, links, `~`, aliases of a root, escaped names) into one place, or
refuses it in words that do not tell whether anything is there outside. What it was judged to be is no promise of what
is there later: `Root.open` sees to that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from linedex.errors import BadArgument, LinedexError, NotFound, OutsideRoots, Unreadable
from linedex.files import names, spelling
from linedex.files.roots import Root
from linedex.model import RelPath

_LOOKS = 100
_NEAR_NAMES = 3
_NEAR_LIKENESS = 60
_LISTED_FOR_NEAR_NAMES = 10_000

_SYSTEM = Root("/")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads.

    Attributes:
        root: the innermost allowed folder that holds it; None when roots are unrestricted and none does.
        path: where it lies below the root (below `/` when there is none).
        absolute: its absolute spelling, free of links and `..`.
    """

    root: Root | None
    path: RelPath
    absolute: bytes

    @property
    def opener(self) -> Root:
        """The root to open `path` through: its own, or the whole file system when it lies outside of all."""
        return self.root or _SYSTEM


class Roots:
    """The allowed folders of one session; where they nest, the innermost holds a path.

    Args:
        folders: the allowed folders; links and aliases among them are resolved once, here.
        unrestricted: whether paths outside of them are allowed too.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]], *, unrestricted: bool = False) -> None:
        found = {Root(folder) for folder in folders}
        self._innermost_first = sorted(found, key=lambda root: (-root.path.count(b"/"), -len(root.path), root.path))
        self._unrestricted = unrestricted

    def __iter__(self) -> Iterator[Root]:
        """Yield the roots, innermost first."""
        return iter(self._innermost_first)

    def __len__(self) -> int:
        return len(self._innermost_first)

    def resolve(self, path: str, *, base: str | None = None, must_exist: bool = True) -> Place:
        r"""Return the place that `path` leads to, through `..`, links, `~` and names escaped as `\xHH`.

        Args:
            path: absolute, or relative to `base`.
            base: the folder that relative paths start from, None to refuse them.
            must_exist: whether a missing file is refused; a file to be written need not exist.

        Raises:
            BadArgument: the path is empty, relative without a base, or cannot be spelled.
            OutsideRoots: it leads out of the allowed folders, whether or not anything is there.
            NotFound: it leads nowhere; the hint names what is near.
            Unreadable: the system does not let us look.
        """
        absolute = _free_of_links(self._spelled(path, base), path)
        place = self._place(absolute)
        if place is None:
            raise self._outside(path)
        if must_exist:
            _demand_existence(path, place)
        return place

    def _spelled(self, path: str, base: str | None) -> bytes:
        if not path:
            raise BadArgument("The path is empty.", "Name a file or folder.")
        if os.name == "nt":
            path = spelling.normalise(path)
        spelled = names.parse(os.path.expanduser(path))
        if b"\0" in spelled:
            raise BadArgument("The path holds a NUL byte, so it names no file.", "Leave the NUL byte out.")
        if os.path.isabs(spelled):
            return spelled
        if base is None:
            raise BadArgument(f"The path `{path}` is relative.", f"Give an absolute path{self._allowed()}")
        return os.path.join(names.parse(os.path.expanduser(base)), spelled)

    def _place(self, absolute: bytes) -> Place | None:
        for root in self._innermost_first:
            below = root.below(absolute)
            if below is not None:
                return Place(root, below, absolute)
        alias = self._alias(absolute)
        if alias is not None:
            return alias
        return Place(None, RelPath(absolute[1:]), absolute) if self._unrestricted else None

    def _alias(self, absolute: bytes) -> Place | None:
        """Find a root under another name: a bind mount, or another case on a file system that ignores case."""
        identities = {}
        for root in self._innermost_first:
            with contextlib.suppress(OSError):
                status = os.stat(root.path)
                identities[status.st_dev, status.st_ino] = root
        ancestor = absolute
        while ancestor != b"/":
            with contextlib.suppress(OSError):
                status = os.lstat(ancestor)
                if root_here := identities.get((status.st_dev, status.st_ino)):
                    below = RelPath(absolute[len(ancestor) + 1 :])
                    return Place(root_here, below, root_here.absolute(below))
            ancestor = os.path.dirname(ancestor)
        return None

    def _outside(self, path: str) -> OutsideRoots:
        return OutsideRoots(f"`{path}` is outside the allowed folders.", f"Use a path{self._allowed()}")

    def _allowed(self) -> str:
        shown = [f"`{names.display(root.path)}`" for root in self._innermost_first]
        return f" below {' or '.join(shown)}." if shown else "; no folder is allowed yet."


def _free_of_links(spelled: bytes, path: str) -> bytes:
    for _ in range(_LOOKS):
        try:
            return os.path.realpath(spelled)
        except OSError:
            # what was a link when it was looked at was none when it was read
            continue
    raise Unreadable(f"`{path}` cannot be followed: a link in it changes all the time.", "Try again in a moment.")


def _demand_existence(path: str, place: Place) -> None:
    try:
        mode = os.lstat(place.absolute).st_mode
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
            raise NotFound(f"There is no `{path}`.", _near(path, place)) from error
        raise Unreadable(f"`{path}` cannot be looked at: {error.strerror}.", "Check its permissions.") from error
    if stat.S_ISLNK(mode):
        # What is still a link after all links were followed is one of a loop.
        raise NotFound(f"`{path}` is a link that leads back to itself.", "Name the file itself.")


def _listed(root: Root, folder: bytes) -> list[str]:
    """Return names in a folder, opened through its root: by its name it could be a link out of it by now."""
    descriptor = root.open_folder(root.below(folder) or RelPath(b""))
    try:
        with os.scandir(descriptor) as entries:
            few = islice(entries, _LISTED_FOR_NEAR_NAMES)
            return [names.display(os.fsencode(entry.name)) for entry in few]
    finally:
        os.close(descriptor)


def _near(path: str, place: Place) -> str:
    """Say what stands where the path first goes wrong, and which names there are like the one asked for."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415  its import takes 32 ms, and only a refusal needs it

    folder, missing = os.path.split(place.absolute)
    while not os.path.isdir(folder) and folder != place.opener.path:
        if os.path.lexists(folder):
            return f"`{_spelled(path, place, folder)}` is a file, not a folder."
        folder, missing = os.path.split(folder)
    shown = _spelled(path, place, folder)
    try:
        listed = _listed(place.opener, folder)
    except (LinedexError, OSError):
        return f"Its folder `{shown}` cannot be listed."
    near = process.extract(
        names.display(missing),
        listed,
        scorer=fuzz.ratio,
        processor=str.lower,
        limit=_NEAR_NAMES,
        score_cutoff=_NEAR_LIKENESS,
    )
    if not near:
        return f"List `{shown}` to see what is there."
    # `~` at the front would be taken for the home folder
    meant = [name if shown == "." and name[:1] != "~" else f"{shown.rstrip('/')}/{name}" for name, _, _ in near]
    return f"Did you mean {' or '.join(f'`{one}`' for one in meant)}?"


def _spelled(path: str, place: Place, folder: bytes) -> str:
    """Return `folder`, on the way to `place`, as who wrote `path` for that would write it: relative to the same."""
    asked, rest = path.rstrip("/"), names.display(place.absolute[len(folder) :].lstrip(b"/"))
    if asked == rest:
        return "."
    return (asked.removesuffix(f"/{rest}") or "/") if asked.endswith(f"/{rest}") else names.display(folder)
