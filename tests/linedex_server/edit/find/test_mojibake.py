from __future__ import annotations

import pytest

from linedex_server.edit.errors import NotPlaced
from linedex_server.edit.find.mojibake import readings, recovered

FILE = "标题：配置文件\nlimit = 10\ncafé au lait\n"


def once(text: str) -> bool:
    return FILE.count(text) == 1


def test_text_decoded_by_the_wrong_encoding_is_recovered_with_what_replaces_it() -> None:
    old, new = (text.encode().decode("gb18030") for text in ("配置文件", "说明文件"))
    found = recovered(old, new, once)
    assert found
    assert (found.old, found.new) == ("配置文件", "说明文件")
    assert found.told("old_text") == "old_text had been decoded as GB18030; it is UTF-8"


def test_western_text_is_recovered_too_and_new_text_in_ascii_stays() -> None:
    found = recovered("cafÃ© au", "tea", once)
    assert found
    assert (found.old, found.new, found.decoded_as, found.meant) == ("café au", "tea", "cp1252", "utf-8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("limit", "x"),
        ("cafÃ© au", "日本"),
        ("cafÃ© noir", "tea"),
        ("caf\ufffd au", "tea"),
    ],
)
def test_what_is_plain_or_does_not_convert_or_does_not_fit_is_not_recovered(old: str, new: str) -> None:
    assert recovered(old, new, once) is None


def test_it_must_stand_exactly_as_often_as_expected() -> None:
    assert recovered("cafÃ© au", "tea", lambda text: FILE.count(text) == 2) is None


def test_two_readings_that_fit_are_refused() -> None:
    garbled = "é"
    meanings = {one.old for one in readings("Ã©", "", ("utf-8", "cp1252", "latin-1", "cp437"))}
    assert garbled in meanings
    assert len(meanings) > 1
    with pytest.raises(NotPlaced, match="more than one wrong way"):
        recovered("Ã©", "", lambda text: text in meanings, ("utf-8", "cp1252", "latin-1", "cp437"))
