from __future__ import annotations

import unicodedata

import re2

from linedex.content.folding import fold
from linedex.query.code_points import case_partners, folds_alike, matched_ranges, quiet_options

CASED = [
    char
    for char in map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
    if not char == char.lower() == char.upper() == char.casefold()
]


def orbits() -> dict[str, set[str]]:
    """What RE2 takes for equal, by trying each letter with case on all of them."""
    everything = "".join(CASED).encode()
    found = {}
    for char in CASED:
        program = re2.compile(f"(?i)\\x{{{ord(char):x}}}".encode(), quiet_options())
        found[char] = {match.group().decode() for match in program.finditer(everything)} | {char}
    return found


def test_letters_equal_under_ignored_case_fold_to_equal_bytes_and_are_partners() -> None:
    for char, equal in orbits().items():
        assert set(case_partners(char)) == equal
        if folds_alike(char):
            assert {fold(each.encode()) for each in equal} == {fold(char.encode())}


def test_a_code_point_that_python_does_not_know_is_not_trusted_to_fold() -> None:
    unknown = next(char for char in map(chr, range(0x10000, 0x20000)) if unicodedata.category(char) == "Cn")
    assert not folds_alike(unknown)
    assert folds_alike("я")
    assert folds_alike("a")


def test_ranges_are_those_that_re2_matches_one_by_one() -> None:
    ranges = matched_ranges(r"\p{Greek}")
    program = re2.compile(r"\p{Greek}", quiet_options())
    for point in (*range(0x300, 0x500), *range(0x1F00, 0x2130), 0x10140, 0x1018E, 0x1018F):
        assert any(low <= point <= high for low, high in ranges) == bool(program.match(chr(point)))


def test_surrogates_are_in_no_range() -> None:
    assert matched_ranges(r"[\x{d700}-\x{e100}]") == ((0xD700, 0xD7FF), (0xE000, 0xE100))
