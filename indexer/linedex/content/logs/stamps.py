"""Where the stamps of a file stand, and their readings for every line of a window.

Promise: `StampReader.read` gives for each line what `StampRule.match` gives: the stamp at the learned anchor, else the
first one at the rule's kind of place. Lines that vectors do not settle are read by the expression, one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from linedex.content.logs.formats import (
    FORMAT_NAMES,
    HEAD,
    HEAD_BYTES,
    OPENING,
    PLACE_NAMES,
    PRIORITY,
    Basis,
    TimestampFormat,
    columns_before,
    match_stamp,
    placed,
    words_before,
)
from linedex.content.logs.instants import NO_INSTANT, Instants, read_wall
from linedex.content.logs.layouts import Layout
from linedex.content.logs.window import DIGITS, WORD_BYTES, Flags, Places, Window

_LAYOUTS: Final = 32
"""Written forms that are kept for one rule; further ones are read line by line. HealthApp has 24."""
WORTH_A_PASS: Final = 24
Matcher: TypeAlias = Callable[[bytes, int, int], "re.Match[bytes] | None"]


@dataclass(frozen=True, slots=True)
class StampRule:
    """A format and where its stamps stand.

    Attributes:
        format_name: a key of `FORMAT_NAMES`.
        place_name: a key of `PLACE_NAMES`.
        column: the byte of a line at which nearly all stamps stand, if it is one.
        words: how many words stand before nearly all stamps, if it is one number.
        prefix: the very bytes before nearly all stamps, if they are the same (places with a key).
        key: the last of these bytes, if only they are the same.
    """

    format_name: str
    place_name: str
    column: int | None = None
    words: int | None = None
    prefix: str = ""
    key: str = ""

    @property
    def stamp_format(self) -> TimestampFormat:
        """The format itself."""
        return FORMAT_NAMES[self.format_name]

    @property
    def basis(self) -> Basis:
        """How much of an instant its stamps tell."""
        return self.stamp_format.basis

    def match(self, text: bytes, start: int, end: int) -> re.Match[bytes] | None:
        """Return the stamp of the line `text[start:end]`."""
        return self.matcher()(text, start, end)

    def matcher(self) -> Matcher:
        """Return `match`, prepared for many lines."""
        general = placed(PLACE_NAMES[self.place_name], self.stamp_format)
        if self.key:
            return self._by_key(self.key.encode("latin-1"), general)
        if self.column is not None:
            anchored = placed(columns_before(self.column), self.stamp_format)
        elif self.words is not None:
            anchored = placed(words_before(self.words), self.stamp_format)
        else:
            return partial(match_stamp, general)
        return lambda text, start, end: (
            match_stamp(anchored, text, start, end) or match_stamp(general, text, start, end)
        )

    def _by_key(self, key: bytes, general: re.Pattern[bytes]) -> Matcher:
        alone = placed(columns_before(0), self.stamp_format)

        def match(text: bytes, start: int, end: int) -> re.Match[bytes] | None:
            limit = min(end, start + HEAD_BYTES)
            at = text.find(key, start, limit)
            found = alone.match(text, at + len(key), limit) if at >= 0 else None
            return found or general.match(text, start, limit)

        return match


@dataclass(frozen=True, slots=True)
class Stamps:
    """The stamps of a window's lines, an entry a line.

    Attributes:
        found: whether the line has one.
        walls: its reading, or `NO_INSTANT`.
        absolute: whether the reading is an instant.
        begins: the stamp's first byte.
        ends: the byte after it; the line's start where there is none.
    """

    found: Flags
    walls: Instants
    absolute: Flags
    begins: Places
    ends: Places

    @classmethod
    def none(cls, window: Window) -> Stamps:
        """Return the stamps of a window that has none."""
        count = len(window)
        return cls(
            np.zeros(count, np.bool_),
            np.full(count, NO_INSTANT, np.int64),
            np.zeros(count, np.bool_),
            window.starts.copy(),
            window.starts.copy(),
        )


class StampReader:
    """Reads the stamps of one rule; learns their written forms as it goes, which changes its speed and nothing else.

    Args:
        rule: where the stamps stand.
        worth_a_pass: with fewer lines left than this they are read one by one: a pass of vectors costs as much.
    """

    def __init__(self, rule: StampRule, worth_a_pass: int = WORTH_A_PASS) -> None:
        self.rule = rule
        self._worth_a_pass = worth_a_pass
        self._match = rule.matcher()
        self._layouts: dict[bytes, Layout] = {}
        self._begins: Flags = np.zeros(256, np.bool_)
        self._begins[list(rule.stamp_format.begins)] = True

    def read(self, window: Window) -> Stamps:
        """Return the stamps of a window's lines."""
        stamps = Stamps.none(window)
        if len(window):
            places = self._places(window)
            for layout in self._layouts.values():
                self._apply(layout, window, places, stamps)
            line = 0
            while (learned := self._one_by_one(window, places, stamps, line)) is not None:
                line, layout = learned
                self._apply(layout, window, places, stamps)
        return stamps

    def fill(self, window: Window, stamps: Stamps) -> Flags:
        """Read the lines that have no stamp yet, in place, and return which were found now."""
        mine = self.read(window)
        new: Flags = mine.found & ~stamps.found
        for target, source in (
            (stamps.walls, mine.walls),
            (stamps.absolute, mine.absolute),
            (stamps.begins, mine.begins),
            (stamps.ends, mine.ends),
        ):
            np.copyto(target, source, where=new)
        stamps.found[new] = True
        return new

    def _apply(self, layout: Layout, window: Window, places: Places, stamps: Stamps) -> None:
        open_lines = np.flatnonzero(~stamps.found & (places >= 0))
        if len(open_lines) < self._worth_a_pass:
            return
        at = places[open_lines]
        good, walls, absolute = layout.read(window, at)
        # the expression sees the first bytes of a line only, and none of the next line
        good &= at + layout.length <= self._limits(window)[open_lines]
        taken = open_lines[good]
        stamps.found[taken] = True
        stamps.walls[taken] = walls[good]
        stamps.absolute[taken] = absolute[good]
        stamps.begins[taken] = at[good]
        stamps.ends[taken] = at[good] + layout.length

    @staticmethod
    def _limits(window: Window) -> Places:
        limits: Places = np.minimum(window.ends, window.starts + (512 - 16))
        return limits

    def _one_by_one(self, window: Window, places: Places, stamps: Stamps, first: int) -> tuple[int, Layout] | None:
        """Read the lines from `first` on that have no stamp, up to one that teaches a layout.

        Returns:
            The line behind that one and what it taught, None when all lines are read.
        """
        rule, text = self.rule, window.text
        left: Flags = ~stamps.found[first:]
        if rule.place_name == HEAD.name:
            # lines of stack traces are many, and their first byte tells them
            left &= self._begins[window.octets[places[first:]]]
        lines = np.flatnonzero(left) + first
        for line, start, end, place in zip(
            lines.tolist(),
            window.starts[lines].tolist(),
            window.ends[lines].tolist(),
            places[lines].tolist(),
            strict=True,
        ):
            match = self._match(text, start, end)
            wall = None if match is None else read_wall(match, rule.basis)
            if match is None or wall is None:
                continue
            begin, stop = match.span("stamp")
            stamps.found[line] = True
            stamps.walls[line], stamps.absolute[line] = wall.value, wall.absolute
            stamps.begins[line], stamps.ends[line] = begin, stop
            if place == begin and len(self._layouts) < _LAYOUTS:
                shape = Layout.shape(match["stamp"])
                if shape is not None and shape not in self._layouts:
                    layout = self._layouts[shape] = Layout(rule.stamp_format, match)
                    return line + 1, layout
        return None

    def _places(self, window: Window) -> Places:
        """Return where the anchor puts the stamp of each line, -1 where it is not settled."""
        rule, octets, starts = self.rule, window.octets, window.starts
        if rule.column is not None:
            at = np.minimum(starts + rule.column, len(octets) - 1)
            before = octets[np.maximum(at - 1, 0)]
            free = ~WORD_BYTES[before] if rule.column else np.ones(len(starts), np.bool_)
            return np.where(free & (at < window.ends), at, -1)
        if rule.words is not None:
            at = window.after_words(rule.words)
            return np.where(at >= 0, at + _OPENING[octets[np.maximum(at, 0)]], -1)
        if rule.place_name == HEAD.name:
            return starts + _HEAD_OPENING[octets[starts]]
        if rule.place_name == PRIORITY.name:
            return _after_priority(window)
        if rule.prefix:
            return self._after_prefix(window)
        if rule.key:
            return window.after_key(rule.key.encode("latin-1"))
        return np.full(len(starts), -1, np.int64)

    def _after_prefix(self, window: Window) -> Places:
        prefix = self.rule.prefix.encode("latin-1")
        good: Flags = np.ones(len(window), np.bool_)
        for at in range(0, len(prefix), 8):
            part = prefix[at : at + 8]
            mask = np.uint64((1 << 8 * len(part)) - 1)
            words = window.words[np.minimum(window.starts + at, len(window.words) - 1)]
            good &= (words & mask) == np.uint64(int.from_bytes(part, "little"))
        return np.where(good, window.starts + len(prefix), -1)


_OPENING = np.zeros(256, np.int64)
_OPENING[list(OPENING)] = 1
_HEAD_OPENING = np.zeros(256, np.int64)
_HEAD_OPENING[list(b"[(<")] = 1


def _after_priority(window: Window) -> Places:
    octets, starts = window.octets, window.starts
    close = np.zeros(len(starts), np.int64)
    digits = octets[starts] == ord("<")
    for ahead in (1, 2, 3, 4):
        byte = octets[starts + ahead]
        ended = digits & (close == 0) & (byte == ord(">")) & (ahead > 1)
        close[ended] = ahead + 1
        digits &= DIGITS[byte] | (close > 0)
    at = starts + close
    version = DIGITS[octets[at]] & (octets[at + 1] == 0x20)
    return np.where(close > 0, at + 2 * version, -1)
