"""`linedex languages`: the languages whose symbols are known, and bringing in more of them."""

from __future__ import annotations
