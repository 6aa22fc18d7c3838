"""The folder that a target is in, opened through its root, and the ones above it that have to be made first.

Promise: folders are made one below the other, each relative to the open one above, so none is ever made through a
link; those that were made are removed again, if they are still empty, when the commit comes to nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Final

from linedex.errors import LinedexError, NotFound
from linedex.files.names import display
from linedex.files.places import Place
from linedex.model import RelPath
from linedex_server.edit.put.faults import Faults
from linedex_server.edit.put.restarts import Again

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Parent:
    """The folder of a target.

    Attributes:
        descriptor: the folder, open; of the innermost one that exists until `make` was called.
        missing: absolute paths of the folders that have to be made, outermost first.
    """

    def __init__(self, place: Place, *, create: bool) -> None:
        """Open the folder, or the innermost one above it that exists.

        Raises:
            NotFound: it does not exist and is not to be created.
            NotAFolder, OutsideRoots, Unreadable: as `Root.open_folder`.
        """
        self._opener = place.opener
        self._made: list[tuple[int, bytes]] = []
        folder = RelPath(os.path.dirname(place.path))
        names: list[bytes] = []
        while True:
            try:
                self.descriptor = self._opener.open_folder(folder)
                break
            except NotFound as error:
                if not folder:
                    raise
                if not create:
                    raise NotFound(
                        f"There is no folder `{display(os.path.dirname(place.absolute))}`.",
                        "Set create_dirs=true to make it, or correct the path.",
                    ) from error
                folder, name = RelPath(os.path.dirname(folder)), os.path.basename(folder)
                names.append(name)
        paths = []
        path = self._opener.absolute(folder)
        for name in reversed(names):
            path = os.path.join(path, name)
            paths.append(path)
        self.missing = tuple(paths)

    def make(self, by_this_commit: set[bytes], faults: Faults) -> None:
        """Make what is missing, add it to `by_this_commit`, and open the innermost.

        Args:
            by_this_commit: folders that were made for other targets, which are only opened.
            faults: called before each step.

        Raises:
            Again: somebody else made one meanwhile.
            OSError: the system refuses.
        """
        for path in self.missing:
            name = os.path.basename(path)
            if path not in by_this_commit:
                faults("make a folder")
                try:
                    os.mkdir(name, 0o777, dir_fd=self.descriptor)
                except FileExistsError as error:
                    raise Again from error
                by_this_commit.add(path)
                self._made.append((os.dup(self.descriptor), name))
                flush(self.descriptor)
            above = self.descriptor
            self.descriptor = os.open(name, _FOLDER, dir_fd=above)
            os.close(above)

    def take_back(self) -> None:
        """Remove what was made, innermost first; a folder that is not empty stays.

        Raises:
            OSError: the system refuses.
        """
        for above, name in reversed(self._made):
            remove_if_empty(above, name)

    def close(self) -> None:
        """Close all folders."""
        for above, _ in self._made:
            os.close(above)
        self._made.clear()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def flush(folder: int) -> None:
    """Let the names of an open folder reach the disk, where the file system has that.

    Raises:
        OSError: the system refuses.
    """
    try:
        os.fsync(folder)
    except OSError as error:
        # some network and user-space file systems flush no folders
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
            raise


def remove_if_empty(above: int, name: bytes) -> None:
    """Remove a folder unless it holds something or is gone.

    Raises:
        OSError: the system refuses for another reason.
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        try:
            os.rmdir(name, dir_fd=above)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise


def remove_empty(place: Place, folder: bytes) -> None:
    """Remove a folder above or beside a place unless it holds something, is gone or is not ours to remove.

    Args:
        place: a place of the same root.
        folder: absolute path of the folder.
    """
    path = place.opener.below(folder)
    if not path:
        return
    with contextlib.suppress(LinedexError, OSError):
        above = place.opener.open_folder(RelPath(os.path.dirname(path)))
        try:
            remove_if_empty(above, os.path.basename(path))
        finally:
            os.close(above)
