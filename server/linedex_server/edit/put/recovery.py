"""What a process left half made is brought to one end: every step wholly made, or as if it had never begun.

Promise: a step is made when all its files are: a replaced or created one when its name leads to the inode that the
intent recorded, a removed one when its name is gone, one written in place when the history has its mark. Otherwise all
its files become what they were. Temporary files are known by the names in the intents, never by a pattern, so no file
of the user's is touched. What somebody else has written since is kept, and said so. Device numbers are not compared:
they change over a reboot.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files.names import display
from linedex.files.own_state import FORMER_SUFFIX, TEMPORARY_SUFFIX
from linedex.query.revisions import revision
from linedex_server.edit.history import writers
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import FileStep, Intent, Pending
from linedex_server.edit.put import syscalls
from linedex_server.edit.put.folders import flush, remove_if_empty
from linedex_server.edit.put.in_place import BEGUN, WRITTEN, restore
from linedex_server.edit.put.placement import Identity
from linedex_server.edit.put.replace import give_name
from linedex_server.edit.put.syscalls import Unsupported

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _Stuck(Exception):
    """A file cannot be brought to an end; the message says why."""


def recover(history: History) -> tuple[str, ...]:
    """Bring the pending steps of processes that are gone to one end; return a sentence for each that resists.

    Raises:
        Unreadable: the history cannot be read.
    """
    notes = []
    for pending in history.pending():
        if writers.running(pending.writer):
            continue
        try:
            _end(history, pending)
        except (OSError, LinedexError, _Stuck) as error:
            paths = ", ".join(display(intent.path) for intent in pending.intents)
            notes.append(f"Step {pending.step.id} was interrupted and cannot be brought to an end: {paths}: {error}.")
    return tuple(notes)


def _end(history: History, pending: Pending) -> None:
    with ExitStack() as stack:
        files = [_File(intent, pending, stack) for intent in pending.intents]
        if files and all(file.is_done for file in files) and not any(file.foreign_came_out for file in files):
            for file in files:
                file.tidy()
            hashes = {file.intent.path: file.revision() for file in files if file.step.hash_after is None}
            history.settle(pending.step.id, {path: name for path, name in hashes.items() if name})
            return
        for file in reversed(files):
            file.roll_back(history, pending.step.id)
    for made in pending.step.files:
        _remove_folders(made.made_folders)
    history.discard(pending.step.id)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of one target in its folder, b"" where its way has none."""

    target: bytes
    temporary: bytes
    kept: bytes

    @classmethod
    def of(cls, intent: Intent) -> _Names:
        temporary = os.path.basename(intent.temporary)
        kept = temporary.removesuffix(TEMPORARY_SUFFIX) + FORMER_SUFFIX if temporary else b""
        return cls(os.path.basename(intent.path), temporary, kept)


class _File:
    """One file of a pending step, as it is found."""

    def __init__(self, intent: Intent, pending: Pending, stack: ExitStack) -> None:
        self.intent = intent
        step = pending.step.file(intent.path)
        assert step is not None, "an intent belongs to a file of its step"
        self.step: FileStep = step
        self._names = _Names.of(intent)
        self._folder = _opened_folder(os.path.dirname(intent.path))
        if self._folder >= 0:
            stack.callback(os.close, self._folder)

    def _stat(self, name: bytes) -> os.stat_result | None:
        if self._folder < 0 or not name:
            return None
        try:
            return os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _leads_to_recorded(self, name: bytes) -> bool:
        status = self._stat(name)
        return status is not None and status.st_ino == self.intent.inode

    @property
    def is_done(self) -> bool:
        """Whether the change of this file was made."""
        if self._folder < 0:
            return False
        match self.intent.way:
            case "in_place":
                return self.intent.note.endswith(WRITTEN)
            case "remove":
                return not self._leads_to_recorded(self._names.target)
            case _:
                return self._leads_to_recorded(self._names.target)

    @property
    def _out(self) -> tuple[bytes, os.stat_result] | None:
        """What gave way to the new file, by name and stat."""
        for name in (self._names.kept, self._names.temporary):
            status = self._stat(name)
            if status is not None and status.st_ino != self.intent.inode:
                return name, status
        return None

    @property
    def foreign_came_out(self) -> bool:
        """Whether what gave way is not what the change was made for, and the new file has stayed as it was made."""
        if self.intent.way != "replace" or (out := self._out) is None:
            return False
        former, status = Identity.noted(self.intent.note), out[1]
        return (status.st_ino, status.st_size, status.st_mtime_ns) != (former.inode, former.size, former.mtime_ns)

    def tidy(self) -> None:
        """Remove what the finished change left behind."""
        for name in (self._names.temporary, self._names.kept):
            self._unlink(name)

    def revision(self) -> str:
        """Return the `rev:` token of the file, "" when it is not the one that was made any more."""
        if self._folder < 0:
            return ""
        try:
            descriptor = os.open(self._names.target, _READ, dir_fd=self._folder)
        except FileNotFoundError:
            return ""
        try:
            mark = fingerprints.from_stat(os.fstat(descriptor))
            if mark.size != self.step.size_after:
                return ""
            return revision(mark, lambda offset, size: os.pread(descriptor, size, offset))
        finally:
            os.close(descriptor)

    def roll_back(self, history: History, step: str) -> None:
        """Make the file what it was.

        Raises:
            _Stuck: somebody has written it since.
            OSError, LinedexError: the system or the history refuses.
        """
        if self._folder < 0:
            return
        match self.intent.way:
            case "in_place":
                self._restore(history, step)
            case "remove":
                self._name_again()
            case "create":
                if self.is_done:
                    self._demand_unchanged()
                    self._unlink(self._names.target)
                self.tidy()
            case "replace":
                if self.is_done:
                    self._exchange_back()
                self.tidy()

    def _exchange_back(self) -> None:
        out = self._out
        if out is None:
            raise _Stuck("the former file is gone")
        self._demand_unchanged()
        name = out[0]
        if name == self._names.temporary:
            try:
                syscalls.exchange(self._folder, name, self._names.target)
            except Unsupported:
                os.replace(name, self._names.target, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            os.replace(name, self._names.target, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        flush(self._folder)

    def _demand_unchanged(self) -> None:
        status = self._stat(self._names.target)
        if status is not None and status.st_size != self.step.size_after:
            raise _Stuck("somebody has changed the new file since")

    def _name_again(self) -> None:
        if not self._leads_to_recorded(self._names.temporary):
            return
        try:
            give_name(self._folder, self._names.temporary, self._names.target, wanted=True)
        except FileExistsError:
            if self._leads_to_recorded(self._names.target):
                # the plain way was killed between its two names
                self._unlink(self._names.temporary)
                return
            raise

    def _restore(self, history: History, step: str) -> None:
        former = Identity.noted(self.intent.note)
        status = self._stat(self._names.target)
        kept = self.intent.kept
        # its times do not tell whether it was written: a write within one tick of the clock leaves them as they were
        begun = self.intent.note.endswith((BEGUN, WRITTEN))
        if not begun or status is None or status.st_ino != former.inode or kept is None:
            return
        bytes_kept = history.roll_back(step, self.intent.path)
        keeps_size = self.step.size_after == self.step.size_before
        if not keeps_size and status.st_size > max(self.step.size_before, self.step.size_after):
            raise _Stuck("somebody has appended to it since")
        start = kept[0]
        descriptor = os.open(self._names.target, _WRITE, dir_fd=self._folder)
        try:
            restore(
                descriptor,
                kept,
                lambda offset, size: bytes_kept.read(offset - start, size),
                None if keeps_size else former.size,
                self.step.mode_before,
            )
        finally:
            os.close(descriptor)

    def _unlink(self, name: bytes) -> None:
        if name:
            try:
                os.unlink(name, dir_fd=self._folder)
            except FileNotFoundError:
                return


def _opened_folder(path: bytes) -> int:
    """Open a folder by the path it had, -1 when that leads elsewhere now or nowhere."""
    if os.path.realpath(path) != path:
        return -1
    try:
        return os.open(path, _FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return -1


def _remove_folders(made: Sequence[bytes]) -> None:
    for path in reversed(made):
        above = _opened_folder(os.path.dirname(path))
        if above >= 0:
            try:
                remove_if_empty(above, os.path.basename(path))
            finally:
                os.close(above)
