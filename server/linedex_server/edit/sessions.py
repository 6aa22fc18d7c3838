"""Write sessions: a file's new text, handed over in chunks, kept on disk until it is committed or given up.

Promise: a chunk that was answered survives the process and the power; one that was torn by either was never answered
and is dropped. A failed append leaves the session as it was. Sessions are bounded in size, number and age, and what a
commit answered is remembered as long as a session would be, so that asking twice is harmless.

One file a session, `<id>.session`: a JSON line that tells what was begun, then for each chunk its length, its CRC-32
and its text in UTF-8. A committed one leaves `<id>.committed`, the answer as JSON. Callers of one process take turns;
no two processes are handed the same session, since its id is known to its client alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from linedex_server.edit.errors import NoSuchSession, SessionFull, WriteFailed

SESSION_SECONDS = 24 * 3600.0
SESSION_BYTES = 1 << 30
MOST_SESSIONS = 64
MOST_ANSWERS = 1_024
"""Answers of committed sessions that are remembered."""
_TURN_SECONDS = 60.0
"""How long a call waits for another call on the same session."""

_ID = re.compile(r"[0-9a-f]{32}")
_CHUNK = struct.Struct(">II")
_OPEN, _COMMITTED, _HALF, _BYTES = ".session", ".committed", ".half", ".bytes"


@dataclass(frozen=True, slots=True)
class Begun:
    """What a session was begun with.

    Attributes:
        path: the target, absolute, as answers spell it.
        encoding: and the other three: the style of the file, as the caller named it.
        create_dirs: whether missing folders are made.
        if_exists: `overwrite`, `error` or `skip`.
        base_hash: what the caller says the file is, None for no guard.
        hash_then: what the file was when the session began, None when there was none.
    """

    path: str
    encoding: str
    bom: str
    newline: str
    final_newline: str
    create_dirs: bool
    if_exists: str
    base_hash: str | None
    hash_then: str | None


@dataclass(frozen=True, slots=True)
class Tally:
    """How much a session holds, in chunks, code points, and bytes of its file."""

    chunks: int
    characters: int
    end: int


class Sessions:
    """The write sessions of one state folder."""

    def __init__(
        self,
        folder: Path,
        *,
        most: int = MOST_SESSIONS,
        most_bytes: int = SESSION_BYTES,
        seconds: float = SESSION_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Use `folder`, which is made when the first session begins.

        Args:
            folder: where they are kept.
            most: how many may be open.
            most_bytes: size of one, its records included.
            seconds: age at which one ends that nobody called for.
            now: the time in seconds since the epoch.
        """
        self._folder = folder
        self._most = most
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._now = now
        self._beginning = threading.Lock()
        self._turns = tuple(threading.Lock() for _ in range(MOST_SESSIONS))
        self._tallies: dict[str, Tally] = {}

    def begin(self, begun: Begun) -> str:
        """Start a session and return its id, 32 hex digits.

        Raises:
            SessionFull: as many as may be are open.
            WriteFailed: the state folder does not take it.
        """
        with self._beginning, _told("the session"):
            self._expire()
            if len(self._ids(_OPEN)) >= self._most:
                raise SessionFull(
                    f"{self._most} write sessions are open, and no more may be.",
                    "Commit or abort one; a session ends by itself after 24 hours without a call.",
                )
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            session = secrets.token_hex(16)
            path = self._path(session, _OPEN)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                _write_all(descriptor, json.dumps(asdict(begun)).encode() + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self._sync_folder()
            self._touch(path)
            return session

    @contextlib.contextmanager
    def turn(self, session: str) -> Iterator[None]:
        """Keep other calls on `session` waiting meanwhile; whatever changes one happens in here.

        Raises:
            NoSuchSession: another call holds it for long.
        """
        lock = self._turns[int(_checked(session)[:8], 16) % len(self._turns)]
        if not lock.acquire(timeout=_TURN_SECONDS):
            raise NoSuchSession(f"Session {session} is in use by another call.", "Wait for that call's answer.")
        try:
            yield
        finally:
            lock.release()

    def begun(self, session: str) -> Begun:
        """Return what a session was begun with.

        Raises:
            NoSuchSession: it is unknown, or ended.
        """
        with self._opened(session) as file:
            return Begun(**json.loads(file.readline()))

    def append(self, session: str, content: str) -> Tally:
        """Add a chunk, durably, and return what the session then holds.

        Raises:
            NoSuchSession: it is unknown, or ended.
            SessionFull: it would be larger than a session may be.
            WriteFailed: the state folder does not take it; the session is as before.
        """
        with self._opened(session) as file:
            before = self._tally(session, file)
            chunk = content.encode("utf-8", "surrogatepass")
            record = _CHUNK.pack(len(chunk), zlib.crc32(chunk)) + chunk
            if before.end + len(record) > self._most_bytes:
                raise SessionFull(
                    f"Session {session} holds {before.characters:,} characters and may have {self._most_bytes:,} "
                    "bytes; the chunk was not appended.",
                    "Commit what there is, or abort it and write the file in parts.",
                )
            descriptor = file.fileno()
            with _told("the chunk"):
                try:
                    os.lseek(descriptor, before.end, os.SEEK_SET)
                    _write_all(descriptor, record)
                    os.ftruncate(descriptor, before.end + len(record))
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, before.end)
                    raise
            after = Tally(before.chunks + 1, before.characters + len(content), before.end + len(record))
            self._tallies[session] = after
            self._touch(self._path(session, _OPEN))
            return after

    def chunks(self, session: str) -> Iterator[str]:
        """Yield the text of a session, chunk by chunk.

        Raises:
            NoSuchSession: it is unknown, or ended.
        """
        self._touch(self._path(_checked(session), _OPEN))
        with self._opened(session) as file:
            for _, chunk in _records(file):
                yield chunk.decode("utf-8", "surrogatepass")

    def characters(self, session: str) -> int:
        """Return the length of a session's text, in code points.

        Raises:
            NoSuchSession: it is unknown, or ended.
        """
        with self._opened(session) as file:
            return self._tally(session, file).characters

    def bytes_path(self, session: str) -> Path:
        """Return where the bytes of a session's text may be put while it is committed; they go when it ends."""
        return self._path(_checked(session), _BYTES)

    def committed(self, session: str) -> dict[str, Any] | None:
        """Return what the commit of a session was answered with, None when it was not committed."""
        try:
            found: dict[str, Any] = json.loads(self._path(_checked(session), _COMMITTED).read_bytes())
        except FileNotFoundError:
            return None
        return found

    def finish(self, session: str, answer: dict[str, Any]) -> None:
        """End a session that was committed, and remember the answer."""
        path = self._path(session, _COMMITTED)
        beside = path.with_suffix(_HALF)
        with _told("the answer"):
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                _write_all(descriptor, json.dumps(answer).encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            beside.replace(path)
            self._touch(path)
            self._sync_folder()
        self._drop(session)
        for old in self._ids(_COMMITTED)[:-MOST_ANSWERS]:
            self._path(old, _COMMITTED).unlink(missing_ok=True)

    def abort(self, session: str) -> bool:
        """End a session and forget its text; return whether there was one."""
        there = self._path(_checked(session), _OPEN).exists()
        self._drop(session)
        return there

    def _drop(self, session: str) -> None:
        self._tallies.pop(session, None)
        for ending in (_OPEN, _BYTES):
            self._path(session, ending).unlink(missing_ok=True)

    def _tally(self, session: str, file: Any) -> Tally:
        """What the session holds; counted once a process, since its file alone survives."""
        known = self._tallies.get(session)
        if known is not None:
            return known
        chunks = characters = 0
        end = len(file.readline())
        file.seek(0)
        for end, chunk in _records(file):  # noqa: B007 - the last end is what counts
            chunks += 1
            characters += len(chunk.decode("utf-8", "surrogatepass"))
        return Tally(chunks, characters, end)

    @contextlib.contextmanager
    def _opened(self, session: str) -> Iterator[Any]:
        path = self._path(_checked(session), _OPEN)
        try:
            if path.stat().st_mtime < self._now() - self._seconds:
                self._drop(session)  # and then there is none
            file = path.open("r+b")
        except FileNotFoundError:
            raise _unknown(session) from None
        with file:
            yield file

    def _expire(self) -> None:
        oldest = self._now() - self._seconds
        for ending in (_OPEN, _COMMITTED, _HALF, _BYTES):
            for session in self._ids(ending):
                path = self._path(session, ending)
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_mtime < oldest:
                        self._tallies.pop(session, None)
                        path.unlink()

    def _ids(self, ending: str) -> list[str]:
        """The sessions that have a file of this kind, the one called longest ago first."""
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                name = entry.name.removesuffix(ending)
                if name != entry.name and _ID.fullmatch(name):
                    with contextlib.suppress(FileNotFoundError):
                        found.append((entry.stat().st_mtime_ns, name))
        return [name for _, name in sorted(found)]

    def _path(self, session: str, ending: str) -> Path:
        return self._folder / f"{session}{ending}"

    def _touch(self, path: Path) -> None:
        now = self._now()
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (now, now))

    def _sync_folder(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _records(file: Any) -> Iterator[tuple[int, bytes]]:
    """Yield each whole chunk and where its record ends; what follows a torn one was never answered."""
    file.seek(0)
    end = len(file.readline())
    while len(head := file.read(_CHUNK.size)) == _CHUNK.size:
        length, checksum = _CHUNK.unpack(head)
        if length > SESSION_BYTES:
            return
        chunk = file.read(length)
        if len(chunk) < length or zlib.crc32(chunk) != checksum:
            return
        end += _CHUNK.size + length
        yield end, chunk


def _checked(session: str) -> str:
    if not _ID.fullmatch(session):
        raise _unknown(session)
    return session


def _unknown(session: str) -> NoSuchSession:
    shown = session if len(session) <= 40 else session[:40] + "..."
    return NoSuchSession(
        f"There is no write session {shown!r}; it was committed or aborted, or ended after 24 hours without a call.",
        "Start one with begin_write_session; its answer names the id.",
    )


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailed(
            f"The state folder did not take {what}: {error.strerror}.", "Make room or mend its permissions; try again."
        ) from error
