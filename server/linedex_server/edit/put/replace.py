"""Files replaced as a whole: another file is made beside the target and takes its name in one step.

Promise: at every moment the name leads to all of the old file or all of the new one. Where the system can exchange two
names, the old file is still there under the temporary one until it was looked at: if somebody wrote or replaced it in
the last moment, the names are exchanged back, and nothing is lost. Where it cannot, a second name keeps the old file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Final

from linedex.files.own_state import FORMER_SUFFIX, TEMPORARY_SUFFIX
from linedex_server.edit.history.steps import Intent
from linedex_server.edit.put import syscalls
from linedex_server.edit.put.attributes import Irreproducible, carry_over
from linedex_server.edit.put.copying import Shrunk, write_pieces
from linedex_server.edit.put.layout import Stretch, pieces
from linedex_server.edit.put.lease import Lease
from linedex_server.edit.put.placement import Identity, Placement
from linedex_server.edit.put.restarts import Again, OnlyInPlace
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.put.syscalls import Unsupported

_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_UNCHANGEABLE: Final = {
    errno.EBUSY: "it is mounted by itself",
    errno.EXDEV: "it is mounted by itself",
    errno.EPERM: "its folder does not let its files be renamed",
    errno.EACCES: "its folder does not let its files be renamed",
}
_EDGE: Final = 64 << 10
"""Bytes before the old end of a growing file that must not have changed."""
_TAILS: Final = 8
"""How often the new tail of a growing file is copied before the commit goes on."""


class _Staged(Placement):
    """A new file beside the target."""

    _made = -1
    _placed = False

    def intent(self) -> Intent:
        """Return how the target is put down; with the new file's inode once it is made."""
        made = os.fstat(self._made) if self._made >= 0 else None
        old = self._snapshot
        return Intent(
            self.place.absolute,
            "create" if old is None else "replace",
            self._temporary_path,
            made.st_dev if made else 0,
            made.st_ino if made else 0,
            note="" if old is None else Identity.of(old.status).note(),
        )

    def _make(self, mode: int) -> None:
        self._faults("make the temporary file")
        self._made = os.open(self._temporary, _NEW, mode, dir_fd=self._folder)

    def _flush(self) -> None:
        self._faults("flush the temporary file")
        os.fsync(self._made)

    def _finish(self) -> None:
        """Keep the new file open for reading only: who finds its name may not take us for one who writes it."""
        self._faults("open the temporary file again")
        reading = os.open(self._temporary, _READ, dir_fd=self._folder)
        writing, self._made = self._made, reading
        same = os.path.sameopenfile(writing, reading)
        os.close(writing)
        if not same:
            raise Again

    def _is_ours(self, name: bytes) -> bool:
        present, made = self._at(name), os.fstat(self._made)
        return present is not None and (present.st_dev, present.st_ino) == (made.st_dev, made.st_ino)

    @property
    def descriptor(self) -> int:
        """The new file."""
        return self._made

    def close(self) -> None:
        """Close the new file."""
        if self._made >= 0:
            os.close(self._made)
            self._made = -1


class Creating(_Staged):
    """A file that did not exist; whoever is quicker keeps the name."""

    def stage(self) -> None:
        """Write the new file. Its mode is what the system gives a new file here, unless the plan has one."""
        self._make(0o666 if self.plan.mode is None else 0o600)
        write_pieces(-1, pieces(self.plan.splices, 0, 0), self._made, 0, self._settings.abilities, self._faults)
        if self.plan.mode is not None:
            self._faults("set the mode")
            os.fchmod(self._made, self.plan.mode)
        self._flush()
        self._finish()

    def put(self) -> None:
        """Give the new file its name, unless there is a file of that name by now."""
        self._faults("name the new file")
        try:
            give_name(self._folder, self._temporary, self._name, wanted=self._settings.abilities.renames)
        except FileExistsError as error:
            raise Again from error
        self._placed = True

    def look(self, lease: Lease | None) -> None:
        """Nothing gave way."""

    def take_back(self) -> None:
        """Remove the new file under either name."""
        if self._made < 0:
            return
        if self._placed and self._is_ours(self._name):
            os.unlink(self._name, dir_fd=self._folder)
        self._placed = False
        self._unlink(self._temporary)

    def tidy(self) -> None:
        """Nothing is left but the new file."""


class Replacing(_Staged):
    """A file that gives way to another with its attributes."""

    _kept: bytes | None = None

    def stage(self) -> None:
        """Write the new file: stretches of the old one, new bytes, attributes; and flush it."""
        assert self._snapshot is not None
        try:
            self._make(0o600)
        except PermissionError as error:
            raise OnlyInPlace(self.place.absolute, "its folder is not writable") from error
        self._write(pieces(self.plan.splices, 0, self._snapshot.size), 0)
        self._faults("carry over attributes")
        try:
            carry_over(self._snapshot.descriptor, self._made, self.plan.mode)
        except Irreproducible as error:
            raise OnlyInPlace(self.place.absolute, str(error)) from error
        self._flush()
        self._follow_growth(self._snapshot)
        self._finish()

    def _write(self, what: Iterable[Stretch | bytes], at: int) -> None:
        assert self._snapshot is not None
        try:
            write_pieces(self._snapshot.descriptor, what, self._made, at, self._settings.abilities, self._faults)
        except Shrunk as error:
            raise Again from error

    def _follow_growth(self, old: Snapshot) -> None:
        """Copy what was appended to a large file meanwhile, if what stood at its old end stands there still.

        A small one is begun again, since history keeps it whole. With a lease a file cannot grow.
        """
        spliced_to = self.plan.splices[-1].end if self.plan.splices else 0
        for _ in range(_TAILS):
            before = old.size
            if not old.is_large or os.fstat(old.descriptor).st_size <= before:
                return
            edge = min(_EDGE, before - spliced_to)
            at = os.fstat(self._made).st_size
            old.renew()
            if not edge or old.read(before - edge, edge) != os.pread(self._made, edge, at - edge):
                raise Again
            self._write([Stretch(before, old.size)], at)
            self._flush()

    def put(self) -> None:
        """Let the new file and the old one exchange their names."""
        self._faults("exchange the files")
        try:
            self._exchange()
        except OSError as error:
            if error.errno in _UNCHANGEABLE:
                raise OnlyInPlace(self.place.absolute, _UNCHANGEABLE[error.errno]) from error
            raise
        self._placed = True

    def _exchange(self) -> None:
        if self._settings.abilities.renames:
            try:
                syscalls.exchange(self._folder, self._temporary, self._name)
            except Unsupported:
                pass
            else:
                return
        kept = self._temporary.removesuffix(TEMPORARY_SUFFIX) + FORMER_SUFFIX
        try:
            os.link(self._name, kept, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise Again from error
            reason = "its file system can neither exchange names nor give a second one"
            if error.errno in {errno.EBUSY, errno.EXDEV}:
                reason = _UNCHANGEABLE[error.errno]
            raise OnlyInPlace(self.place.absolute, reason) from error
        self._kept = kept
        self._faults("rename the new file")
        os.replace(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def look(self, lease: Lease | None) -> None:
        """See whether the file that gave way is the snapshot still, and nobody waits to write it."""
        self._faults("look at what came out")
        self._came_out(self._at(self._kept or self._temporary), lease)

    def take_back(self) -> None:
        """Give the old file its name back, unless somebody has replaced ours already; remove the new one."""
        if self._made < 0:
            return
        if self._placed and self._is_ours(self._name):
            if self._kept:
                os.replace(self._kept, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            else:
                syscalls.exchange(self._folder, self._temporary, self._name)
                if not self._is_ours(self._temporary):
                    # replaced by somebody else in between: that file is the newest
                    syscalls.exchange(self._folder, self._temporary, self._name)
        self._placed = False
        self.tidy()

    def tidy(self) -> None:
        """Remove the old file; its bytes are freed when the snapshot is closed."""
        self._faults("remove the temporary file")
        self._unlink(self._temporary)
        if self._kept:
            self._unlink(self._kept)


class Removing(Placement):
    """A file that is removed: renamed first, so that it can come back."""

    _placed = False

    def intent(self) -> Intent:
        """Return which file is removed, and the name it has until then."""
        assert self._snapshot is not None
        status = self._snapshot.status
        return Intent(
            self.place.absolute,
            "remove",
            self._temporary_path,
            status.st_dev,
            status.st_ino,
            note=Identity.of(status).note(),
        )

    def stage(self) -> None:
        """There is nothing to make."""

    def put(self) -> None:
        """Take the file its name."""
        self._faults("rename the removed file")
        try:
            os.rename(self._name, self._temporary, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except FileNotFoundError as error:
            raise Again from error
        self._placed = True

    def look(self, lease: Lease | None) -> None:
        """See whether the file that was renamed is the snapshot still, and nobody waits to write it."""
        self._faults("look at what came out")
        self._came_out(self._at(self._temporary), lease)

    def take_back(self) -> None:
        """Give the file its name back; a file that somebody has made there meanwhile keeps it."""
        if not self._placed:
            return
        try:
            give_name(self._folder, self._temporary, self._name, wanted=self._settings.abilities.renames)
        except FileExistsError:
            self._unlink(self._temporary)
        self._placed = False

    def tidy(self) -> None:
        """Remove the file."""
        self._faults("remove the file")
        self._unlink(self._temporary)

    @property
    def descriptor(self) -> int:
        """There is no file any more."""
        return -1


def give_name(folder: int, old: bytes, new: bytes, *, wanted: bool) -> None:
    """Rename a file inside a folder to a name that is free.

    Args:
        folder: descriptor of the folder.
        old: its name.
        new: its name afterwards.
        wanted: whether the system's own call may be used; the plain way links and unlinks.

    Raises:
        FileExistsError: the name is taken.
    """
    if wanted:
        try:
            syscalls.rename_to_new(folder, old, new)
        except Unsupported:
            pass
        else:
            return
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(old, dir_fd=folder)
