from __future__ import annotations

from linedex.query.near import near


def test_a_line_with_a_typing_error_is_near() -> None:
    text = b"one\n  return total\nretrun\n"
    (hit,) = near(text, "retunr total", 0.8)
    assert text[hit.line_start : hit.line_end] == b"  return total"
    assert b"return total".startswith(text[hit.match_start : hit.match_start + 3])
    assert 0.8 <= hit.similarity < 1


def test_an_exact_stretch_has_similarity_one_and_its_place() -> None:
    text = "Straße\nä Straße b\n".encode()
    first, second = near(text, "STRASSE", 0.9)
    assert (first.similarity, second.similarity) == (1.0, 1.0)
    assert text[second.match_start : second.match_end] == "Straße".encode()


def test_places_are_byte_offsets_in_whatever_slice_the_line_lies() -> None:
    filler = "ö-filler line\n".encode() * 40_000
    text = filler + "ääh: connection refused\n".encode() + filler
    (hit,) = near(text, "connecton refused", 0.85)
    assert hit.line_start == len(filler)
    # a stretch as long as the pattern, which lacks a letter
    assert b"connection refused".startswith(text[hit.match_start : hit.match_end])


def test_a_scrap_of_the_pattern_is_not_near_it() -> None:
    assert list(near(b"c\nconn\n\n", "connection refused", 0.8)) == []


def test_bytes_that_are_not_utf_8_do_no_harm() -> None:
    text = b"\xff\xfe connection refusd\n"
    (hit,) = near(text, "connection refused", 0.9)
    assert text[hit.match_start :].startswith(b"connection")


def test_a_pattern_of_several_lines_is_compared_by_its_first_that_is_not_blank() -> None:
    assert [hit.line_start for hit in near(b"x\nabcdefgh\n", "\n  \nabcdefgx\nother", 0.8)] == [2]


def test_a_blank_pattern_and_an_empty_text_have_no_near_lines() -> None:
    assert list(near(b"a\n", " \n", 0.5)) == []
    assert list(near(b"", "a", 0.5)) == []


def test_it_ends_when_its_time_is_spent() -> None:
    assert list(near(b"abcdefgh\n", "abcdefgx", 0.8, seconds=0)) == []
