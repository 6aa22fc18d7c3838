"""Allowed folders: the one judge of every path, and the only door through which a file below them is opened.

Promise: `Roots.resolve` turns any spelling (`..`, links, `~`, aliases of a root, escaped names) into one place, or
refuses it in words that do not tell whether anything is there outside. `Root.open` pins the file before it looks at
it: what was judged is what is read, whatever another process renames or links meanwhile, and nothing but a regular
file is ever opened for reading (opening a FIFO or device can block or act).

On Linux a file is pinned by O_PATH, judged by fstat and by the kernel's own name for it under /proc, and opened again
through that name: 13 us a file at a depth of five folders, against 16 us for the walk component by component that
serves other systems, and 11 us for stat, open and compare, which leaves a gap in which a device can be opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from linedex.errors import (
    BadArgument,
    LinedexError,
    NotAFile,
    NotAFolder,
    NotFound,
    OutsideRoots,
    Unreadable,
)
from linedex.files import names, spelling
from linedex.model import RelPath

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIN = (os.O_PATH if sys.platform == "linux" else os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_KERNEL_NAMES = sys.platform == "linux" and os.path.isdir("/proc/self/fd")

_LOOKS = 100
_NEAR_NAMES = 3
_NEAR_LIKENESS = 60
_LISTED_FOR_NEAR_NAMES = 10_000


class Root:
    """One allowed folder.

    Attributes:
        path: the folder, absolute and free of links, as the system spells it.
    """

    __slots__ = ("_prefix", "path")

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Take an existing folder.

        Raises:
            NotFound: there is no such folder.
            NotAFolder: it is something else.
        """
        spelled = os.fspath(folder)
        self.path = os.path.realpath(os.fsencode(os.path.expanduser(spelled)))
        self._prefix = self.path if self.path.endswith(b"/") else self.path + b"/"
        try:
            mode = os.stat(self.path).st_mode
        except OSError as error:
            raise NotFound(
                f"The allowed folder `{spelled}` cannot be used: {error.strerror}.",
                "Correct the setting, or make the folder.",
            ) from error
        if not stat.S_ISDIR(mode):
            raise NotAFolder(f"The allowed folder `{spelled}` is not a folder.", "Name the folder that holds it.")

    def __repr__(self) -> str:
        return f"Root({names.display(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Root) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def absolute(self, path: RelPath) -> bytes:
        """Return the absolute spelling of a path below this root."""
        return self._prefix + path if path else self.path

    def below(self, absolute: bytes) -> RelPath | None:
        """Return where `absolute` (free of links and `..`) lies below this root, or None when it does not."""
        if absolute == self.path:
            return RelPath(b"")
        return RelPath(absolute[len(self._prefix) :]) if absolute.startswith(self._prefix) else None

    def open(self, path: RelPath) -> int:
        """Open a regular file for reading and return its descriptor, which the caller closes.

        Raises:
            NotFound: there is no such file.
            NotAFile: it is a folder, link, FIFO, device or socket.
            Unreadable: the system refuses.
            OutsideRoots: it leads out of the root, perhaps only since it was resolved.
        """
        return _open_pinned(self, path) if _KERNEL_NAMES else _open_stepwise(self, path)

    @contextlib.contextmanager
    def opened(self, path: RelPath) -> Iterator[int]:
        """Open a regular file as `open` does, and close it at the end of the block."""
        descriptor = self.open(path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def open_folder(self, path: RelPath) -> int:
        """Open a folder for listing and return its descriptor, which the caller closes; raises as `open` does.

        Raises:
            NotAFolder: the path names something else.
        """
        if not _KERNEL_NAMES:
            return _folder_stepwise(self, path.split(b"/") if path else [], path)
        try:
            descriptor = os.open(self.absolute(path), _FOLDER)
        except OSError as error:
            if error.errno in {errno.ENOTDIR, errno.ELOOP} and os.path.lexists(self.absolute(path)):
                raise NotAFolder(
                    f"`{names.display(path)}` is not a folder.", "Name a folder, or read it as a file."
                ) from error
            raise _refusal(error, path) from error
        if not self._holds(descriptor):
            os.close(descriptor)
            raise _left(path)
        return descriptor

    def stat(self, path: RelPath) -> os.stat_result:
        """Return the stat of a file, folder or link below the root, links not followed; raises as `open` does."""
        if not path:
            return os.stat(self.path)
        folder, _, name = path.rpartition(b"/")
        if name == b"..":
            raise _left(path)
        descriptor = self.open_folder(RelPath(folder))
        try:
            return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError as error:
            raise _refusal(error, path) from error
        finally:
            os.close(descriptor)

    def _holds(self, descriptor: int) -> bool:
        """Say whether the kernel's name of an open file or folder lies below this root."""
        name = os.readlink(b"/proc/self/fd/%d" % descriptor)
        return name.startswith(self._prefix) or name == self.path


def _open_pinned(root: Root, path: RelPath) -> int:
    try:
        pin = os.open(root.absolute(path), _PIN)
    except OSError as error:
        raise _refusal(error, path) from error
    try:
        _demand_regular(os.fstat(pin).st_mode, path)
        if not root._holds(pin):
            raise _left(path)
        return os.open(b"/proc/self/fd/%d" % pin, _READ)
    except OSError as error:
        raise _refusal(error, path) from error
    finally:
        os.close(pin)


def _open_stepwise(root: Root, path: RelPath) -> int:
    """Open without the kernel's names: each folder from the one above it, links refused."""
    *folders, name = path.split(b"/")
    if name in {b"", b".", b".."}:
        raise _no_regular_file(path, "a folder")
    folder = _folder_stepwise(root, folders, path)
    try:
        judged = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _demand_regular(judged.st_mode, path)
        descriptor = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        raise _refusal(error, path) from error
    finally:
        os.close(folder)
    opened = os.fstat(descriptor)
    if (opened.st_dev, opened.st_ino) != (judged.st_dev, judged.st_ino):
        os.close(descriptor)
        raise NotFound(f"`{names.display(path)}` was replaced while it was opened.", "Ask again.")
    return descriptor


def _folder_stepwise(root: Root, folders: Sequence[bytes], path: RelPath) -> int:
    if b".." in folders:
        raise _left(path)
    try:
        descriptor = os.open(root.path, _FOLDER)
        for folder in folders:
            above = descriptor
            try:
                descriptor = os.open(folder, _FOLDER, dir_fd=above)
            finally:
                os.close(above)
    except OSError as error:
        raise _refusal(error, path) from error
    return descriptor


def _demand_regular(mode: int, path: RelPath) -> None:
    if not stat.S_ISREG(mode):
        raise _no_regular_file(path, kind_of(mode))


def kind_of(mode: int) -> str:
    """Return in words what a stat mode stands for when it is not a regular file."""
    words = {
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return words.get(stat.S_IFMT(mode), "no regular file")


def _no_regular_file(path: RelPath, kind: str) -> NotAFile:
    hint = "List it instead." if kind == "a folder" else "Only regular files are opened."
    return NotAFile(f"`{names.display(path) or '.'}` is {kind}, not a file.", hint)


def _left(path: RelPath) -> OutsideRoots:
    return OutsideRoots(f"`{names.display(path)}` leads out of its allowed folder.", "Use a path below it.")


def _refusal(error: OSError, path: RelPath) -> LinedexError:
    shown = names.display(path)
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return NotFound(f"There is no `{shown}`.", "List its folder to see what is there.")
        case errno.ELOOP:
            return _left(path)
        case errno.EWOULDBLOCK:
            return Unreadable(f"`{shown}` is held by another process under a lease.", "Try again in a moment.")
        case errno.ENAMETOOLONG:
            return Unreadable(f"`{shown}` has a longer name than the file system takes.", "Shorten it.")
        case errno.EMFILE | errno.ENFILE:
            return Unreadable(
                f"`{shown}` cannot be read: {error.strerror}.",
                "Try again in a moment; if that does not help, raise the limit of open files (ulimit -n).",
            )
        case errno.EIO:
            return Unreadable(f"`{shown}` cannot be read: {error.strerror}.", "Look after the disk, or its connection.")
        case _:
            return Unreadable(f"`{shown}` cannot be read: {error.strerror}.", "Check its permissions.")


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
