"""What the history may keep, and how it is kept to: the oldest settled steps go first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import apsw

_GIVEN_BACK_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class Budget:
    """What the history may keep.

    Attributes:
        stored_bytes: bytes of kept content, as stored; a single larger step is kept all the same.
        steps: number of steps.
        whole_bytes: size up to which the former file is kept whole, so that it can be restored whatever it is now.
        placing_bytes: new bytes of one file that are remembered to find them again after somebody else's change.
        placing_splices: number of splices up to which that is done.
        context_bytes: unchanged bytes remembered on either side of a splice.
        batch_bytes: former bytes that are recorded in one transaction; other writers wait for no more.
        free_bytes: room in the file that is left for later steps; what is more goes back to the system bit by bit.
    """

    stored_bytes: int = 1 << 30
    steps: int = 10_000
    whole_bytes: int = 1 << 20
    placing_bytes: int = 1 << 20
    placing_splices: int = 1_000
    context_bytes: int = 64
    batch_bytes: int = 16 << 20
    free_bytes: int = 64 << 20

    @property
    def words(self) -> str:
        """The budget as people are told of it."""
        return f"{self.stored_bytes:,} bytes and {steps_told(self.steps)}"


def steps_told(count: int) -> str:
    """Return a number of steps in words."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def remove_oldest(db: apsw.Connection, budget: Budget, newest: int) -> int:
    """Remove settled steps, oldest first and never `newest`, until the budget is kept; return how many."""
    count = int(db.execute("SELECT count(*) FROM steps").get or 0)
    removed = 0
    while count > budget.steps or _stored(db) > budget.stored_bytes:
        oldest = db.execute(
            "SELECT number FROM steps WHERE done AND number <> ? ORDER BY number LIMIT 1", (newest,)
        ).get
        if oldest is None:
            break
        db.execute("DELETE FROM steps WHERE number = ?", (oldest,))
        db.execute("UPDATE totals SET removed_to = max(removed_to, ?)", (oldest,))
        count -= 1
        removed += 1
    return removed


def give_back(db: apsw.Connection, free_bytes: int) -> None:
    """Give what the file has free beyond `free_bytes` back to the system, a bounded part at a time."""
    page = int(db.pragma("page_size"))
    more = int(db.pragma("freelist_count")) - free_bytes // page
    if more > 0:
        # each page is moved: a bounded part of them at a time
        list(db.execute(f"PRAGMA incremental_vacuum({min(more, _GIVEN_BACK_BYTES // page)})"))


def _stored(db: apsw.Connection) -> int:
    return int(db.execute("SELECT bytes FROM totals").get or 0)
