"""Why a commit is begun again; nobody outside of it sees these."""

from __future__ import annotations


class Again(Exception):
    """The file changed meanwhile: start from a fresh snapshot."""


class OnlyInPlace(Exception):
    """A file cannot be replaced by another; the message says why.

    Attributes:
        path: its absolute path.
    """

    def __init__(self, path: bytes, reason: str) -> None:
        super().__init__(reason)
        self.path = path
