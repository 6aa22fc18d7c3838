"""What changed between two ranges of a log, by template.

Promise: templates that one range lacks altogether stand first, then the others by how unlikely their two counts are at
one common rate (the log-likelihood ratio of Dunning, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One template in two ranges.

    Attributes:
        template: its number.
        before: its records in the first range.
        after: its records in the second.
        weight: the log-likelihood ratio, 0 where both rates are equal.
    """

    template: int
    before: int
    after: int
    weight: float

    @property
    def new(self) -> bool:
        """Whether the first range has none."""
        return not self.before


def contrast(before: Mapping[int, int], after: Mapping[int, int]) -> list[Change]:
    """Return the templates of two ranges, those that changed most first.

    Args:
        before: records by template in the first range.
        after: the same in the second.
    """
    first_total, second_total = sum(before.values()), sum(after.values())
    changes = [
        Change(number, low, high, _weight(low, first_total, high, second_total))
        for number in sorted(before.keys() | after.keys())
        if (low := before.get(number, 0)) + (high := after.get(number, 0))
    ]
    return sorted(changes, key=lambda change: (bool(change.before), -change.weight, change.template))


def _weight(low: int, first_total: int, high: int, second_total: int) -> float:
    share = (low + high) / (first_total + second_total)
    expected = ((low, share * first_total), (high, share * second_total))
    return 2 * sum(count * math.log(count / even) for count, even in expected if count)
