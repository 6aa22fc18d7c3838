"""How much two texts have in common at their beginning and at their end.

Promise: slices are compared at the speed of memory, as often as the length has binary digits; nothing is compared one
by one in the interpreter.
"""

from __future__ import annotations

from typing import AnyStr


def common_start(one: AnyStr, other: AnyStr) -> int:
    """Return how many code points or bytes two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(one: AnyStr, other: AnyStr) -> int:
    """Return how many code points or bytes two texts have in common at their end."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def common_ends(one: AnyStr, other: AnyStr) -> tuple[int, int]:
    """Return how much of their beginning two texts have in common, and how much of the end of what is left then."""
    head = common_start(one, other)
    return head, common_end(one[head:], other[head:])
