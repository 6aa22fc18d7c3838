"""Which sidecar is being read, and how old it is: ids and rows of two different ones must never be mixed."""

from __future__ import annotations

import secrets
from typing import Final

import apsw

GENERATION: Final = "generation"
_LIFE: Final = "life"
_DROPS: Final = "drops"


def born() -> tuple[tuple[str, str], ...]:
    """Return what a new sidecar says of itself."""
    return (GENERATION, "0"), (_LIFE, secrets.token_hex(8))


def life(db: apsw.Connection) -> str:
    """Return the name of this sidecar, which no other has, nor the same one after it was begun anew."""
    return str(db.execute("SELECT value FROM meta WHERE key = ?", (_LIFE,)).get or "")


def drops(db: apsw.Connection) -> int:
    """Return how often signatures of files were dropped."""
    return int(db.execute("SELECT value FROM meta WHERE key = ?", (_DROPS,)).get or 0)


def count_drop(db: apsw.Connection) -> None:
    """Note, in the transaction that drops signatures of files, that it does."""
    db.execute(
        "INSERT INTO meta VALUES(?, '1') ON CONFLICT(key) DO UPDATE SET value = value + 1",
        (_DROPS,),
    )


def age(db: apsw.Connection) -> tuple[str, int]:
    """Return the sidecar's name, and a number that is another one after each committed transaction."""
    return life(db), int(db.execute("SELECT value FROM meta WHERE key = ?", (GENERATION,)).get or 0)
