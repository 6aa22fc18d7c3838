"""One open file at one state: what an edit reads, and what its guards compare with.

Promise: `read` gives bytes of the file that was opened, whatever its name leads to by now. That the file was not
rewritten meanwhile is not known before the commit rechecks it; only a file that became shorter shows at once.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from types import TracebackType
from typing import Final

from linedex.errors import BadArgument
from linedex.files import fingerprint as fingerprints
from linedex.files.names import display
from linedex.files.places import Place
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.query.revisions import TOKEN_DIGITS, content_hash, revision
from linedex_server.edit.errors import Conflict

_GUARD: Final = re.compile(r"rev:[0-9a-f]{16}|(?:sha256:)?([0-9a-f]{16,64})")


class _Digests:
    """The SHA-256 that files had when a token named them, so that a file that was only touched passes its guard."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._known: OrderedDict[str, str] = OrderedDict()
        self._guard = threading.Lock()

    def record(self, token: str, digest: str) -> None:
        with self._guard:
            self._known[token] = digest
            self._known.move_to_end(token)
            if len(self._known) > self._capacity:
                self._known.popitem(last=False)

    def of(self, token: str) -> str | None:
        with self._guard:
            return self._known.get(token)


_DIGESTS: Final = _Digests(512)


class Snapshot:
    """One open file; close it, or use it as a context manager.

    Attributes:
        place: where it is.
        status: its stat when it was opened.
        size: its size then, in bytes.
        limits: the bounds it is read by.
    """

    def __init__(self, place: Place, limits: Limits = DEFAULT_LIMITS) -> None:
        """Open the file.

        Raises:
            NotFound, NotAFile, Unreadable, OutsideRoots: as `Root.open`.
        """
        self.place = place
        self.limits = limits
        self._descriptor = place.opener.open(place.path)
        self._take()

    def _take(self) -> None:
        self.status = os.fstat(self._descriptor)
        self.size = self.status.st_size
        self._sha256 = ""
        self._revision = ""

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was read stays with whoever read it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def descriptor(self) -> int:
        """The open file, for those who copy from it; closed with the snapshot."""
        return self._descriptor

    @property
    def is_large(self) -> bool:
        """Whether the file is named by a `rev:` token, and not by a hash of its bytes."""
        return self.size > self.limits.hash_bytes

    def renew(self) -> None:
        """Take the open file's state as it is now."""
        self._take()

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from `offset`, fewer only at the end of the file as it was when opened.

        Raises:
            Conflict: the file has become shorter.
        """
        size = min(size, self.size - offset)
        parts: list[bytes] = []
        while size > 0:
            part = os.pread(self._descriptor, size, offset)
            if not part:
                raise Conflict(
                    f"`{display(self.place.absolute)}` became shorter while it was read; nothing was written.",
                    "Read it again, then edit what is there now.",
                )
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def sha256(self) -> str:
        """Return the SHA-256 of the file's bytes, 64 hex digits; they are read once.

        Raises:
            Conflict: the file has become shorter.
        """
        if not self._sha256:
            self._sha256 = content_hash(self.size, self.read)
            _DIGESTS.record(self.revision(), self._sha256)
        return self._sha256

    def revision(self) -> str:
        """Return the `rev:` token of the file's state, which is cheap whatever its size."""
        if not self._revision:
            self._revision = revision(fingerprints.from_stat(self.status), self.read)
        return self._revision

    def token(self) -> str:
        """Return what answers print and guards take: 16 digits of the SHA-256, or the `rev:` token if it is large."""
        return self.revision() if self.is_large else self.sha256()[:TOKEN_DIGITS]

    def demand(self, base_hash: str | None, shown: str) -> None:
        """Do nothing if the file is in the state that `base_hash` names, or if it names none.

        Args:
            base_hash: at least 16 hex digits of the SHA-256 (any case, `sha256:` allowed), or the `rev:` token.
            shown: how the caller spells the file.

        Raises:
            BadArgument: it is no such hash.
            Conflict: the file is in another state; its present token is named.
        """
        if base_hash is None:
            return
        wanted = parsed_hash(base_hash)
        if wanted.startswith("rev:"):
            known = _DIGESTS.of(wanted)
            if wanted == self.revision() or (known is not None and known == self.sha256()):
                return
        elif self.sha256().startswith(wanted):
            return
        raise Conflict(
            f"{shown} has changed since hash {base_hash}. Now: {self.token()}.",
            "Read it again, then edit what is there now.",
        )


def parsed_hash(base_hash: str) -> str:
    """Return a guard in the spelling it is compared in: a `rev:` token, or hex digits of a SHA-256 in small letters.

    Raises:
        BadArgument: it is neither.
    """
    found = _GUARD.fullmatch(base_hash.strip().lower())
    if found is None:
        raise BadArgument(
            f"`{base_hash}` is no hash of a file.",
            f"Give at least {TOKEN_DIGITS} hex digits of its SHA-256, or the rev: token, as reads print them.",
        )
    return found[1] or found[0]
