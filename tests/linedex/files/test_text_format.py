"""Text formats: any text gets an encoding that shows it, and what is no text is said to be binary."""

import codecs
import gzip
import marshal
import os
import random
import struct
import zipfile
import zlib
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linedex.files import text_format
from linedex.files.magic import names_binary
from linedex.files.text_format import detect, detect_bytes, glance
from linedex.model import Newline, TextFormat

WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
TEXTS = {
    "ascii": "import x\nclass WidgetPanel:\n    pass\n",
    "cyrillic": "# Читает файл настроек и возвращает результат\nvalue = 10  # по умолчанию\n",
    "greek": "# Διαβάζει το αρχείο ρυθμίσεων και επιστρέφει το αποτέλεσμα\nvalue = 10\n",
    "chinese": "// 模块说明：读取配置文件并返回结果\nint limit = 10;\n// 结束标记，保持不变\n",
    "japanese": "# 設定ファイルを読み込んで結果を返します\nvalue = 10  # 既定値\n",
    "emoji": "plain 😀 and 👩‍👩‍👧 text\nline\n",
}


def expected_newline(text: str) -> Newline:
    """Say by brute force which line ends a text has."""
    feeds = [at for at, character in enumerate(text) if character == "\n"]
    after_return = [at for at in feeds if at and text[at - 1] == "\r"]
    if not feeds:
        return Newline.CR if "\r" in text else Newline.NONE
    if not after_return:
        return Newline.LF
    return Newline.CRLF if after_return == feeds else Newline.MIXED


def expected_final(text: str) -> bool:
    return text.endswith("\r" if expected_newline(text) is Newline.CR else "\n")


def in_chunks(content: bytes, monkeypatch: pytest.MonkeyPatch, chunk: int) -> TextFormat:
    monkeypatch.setattr(text_format, "_CHUNK", chunk)
    return detect(lambda offset, size: content[offset : offset + size], len(content))


@given(st.text(st.sampled_from("ab\r\n é日😀"), max_size=40))
@example("\r")
@example("a\rb\r\n")
@example("a\n\r")
def test_utf8_and_its_line_ends_are_told_by_brute_force(text: str) -> None:
    expected = TextFormat("utf-8", 0, expected_newline(text), expected_final(text))
    assert detect_bytes(text.encode()) == expected


@given(st.text(st.sampled_from("ab\r\n é日😀"), max_size=40), st.integers(1, 7), st.sampled_from(["", *MARKS]))
def test_chunk_edges_change_nothing(text: str, chunk: int, marked: str) -> None:
    encoding = marked or "utf-8"
    mark = MARKS[marked] if marked else b""
    expected = TextFormat(encoding, len(mark), expected_newline(text), expected_final(text))
    with pytest.MonkeyPatch.context() as patch:
        assert in_chunks(mark + text.encode(encoding), patch, chunk) == expected


@pytest.mark.parametrize("content", [b"", b"a", b"\n", "é".encode(), "r\u00e9s 1\n".encode(), "▷ go\n".encode()])
def test_the_shortest_files_are_utf8(content: bytes) -> None:
    assert detect_bytes(content).encoding == "utf-8"
    assert not detect_bytes(content).binary


def test_a_first_character_beyond_ascii_at_the_very_end_is_seen() -> None:
    content = b"plain ascii line of filler text for the sample, ok\n" * 100_000 + "end quote \u201d\n".encode()
    assert detect_bytes(content) == TextFormat("utf-8", 0, Newline.LF, final_newline=True)


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("marked", [True, False])
def test_utf16_and_utf32_are_told_with_and_without_a_mark(encoding: str, kind: str, marked: bool) -> None:
    mark = MARKS[encoding] if marked else b""
    for text in (TEXTS[kind], TEXTS[kind].replace("\n", "\r\n")):
        expected = TextFormat(encoding, len(mark), expected_newline(text), final_newline=True)
        assert detect_bytes(mark + text.encode(encoding)) == expected


def test_a_utf8_mark_is_counted_and_not_part_of_the_encoding() -> None:
    assert detect_bytes(codecs.BOM_UTF8 + b"word\r\nword\r\n") == TextFormat(
        "utf-8", 3, Newline.CRLF, final_newline=True
    )


def test_marked_utf16_with_a_broken_character_is_utf16() -> None:
    content = codecs.BOM_UTF16_LE + TEXTS["ascii"].encode("utf-16-le") + b"\x00\xd8" + "rest\n".encode("utf-16-le")
    assert detect_bytes(content) == TextFormat("utf-16-le", 2, Newline.LF, final_newline=True)


@pytest.mark.parametrize("chunk", [3, 5, 1 << 20])
def test_line_ends_of_wide_text_are_counted_by_units(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # U+0D0A and U+0A0D hold the bytes of CR and LF without being line ends.
    text = "ഊ\u0a0d one ഊ"
    content = codecs.BOM_UTF16_LE + text.encode("utf-16-le")
    assert in_chunks(content, monkeypatch, chunk).newline is Newline.NONE


@pytest.mark.parametrize(
    "content",
    [
        b"START ok\n" + b"filler line of plain text\n" * 40_000 + b"\x00\x00\n" + b"END ok\n",
        b"const A = 'TOKEN_ABC';\nconst B = '\x00';\nconst C = 'TOKEN_ABC';\n",
        b"/etc/hosts\0/etc/passwd\0/usr/share/dict/words\0" * 50,
        b"before the power cut\n" * 5000 + bytes(100_000) + b"after it\n" * 5000,
        b"\x1b[31mred\x1b[0m and \x08backspaces\n" * 30,
        "größe \x00 über\n".encode(),
    ],
)
def test_a_few_control_codes_do_not_make_text_binary(content: bytes) -> None:
    found = detect_bytes(content)
    assert (found.encoding, found.binary) == ("utf-8", False)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", TEXTS["chinese"]),
        ("big5", "這是一個繁體中文的設定檔說明，請勿修改下面的常數。\nint limit = 10;\n"),
        ("cp932", TEXTS["japanese"]),
        ("euc_jp", TEXTS["japanese"]),
        ("euc_kr", "# 설정 파일을 읽고 결과를 반환합니다\nvalue = 10  # 기본값\n"),
        ("cp1251", TEXTS["cyrillic"]),
        ("koi8_r", TEXTS["cyrillic"]),
        ("cp866", TEXTS["cyrillic"]),
        ("cp1253", TEXTS["greek"]),
        ("cp1250", "# Načte soubor s nastavením a vrátí výsledek, žluťoučký kůň\nvalue = 10\n"),
        ("cp1254", "# Ayar dosyasını okur ve sonucu döndürür, şu an için değişmez\nvalue = 10\n"),
        ("cp1255", "# קורא את קובץ ההגדרות ומחזיר את התוצאה\nvalue = 10\n"),
        ("cp1256", "# يقرأ ملف الإعدادات ويعيد النتيجة\nvalue = 10\n"),
        ("cp1252", "# Lit le fichier de réglages et renvoie le résultat déjà prêt, “où”\nvalue = 10\n"),
        ("latin-1", "/* (c) 1998 Jürgen Müller */\nint main(void) { return 0; }\n"),
        ("cp1252", "title: café € 5\r\nname: Müller\r\ncount: 1\r\n"),
        ("cp1252", "log line ok\n" * 200 + "café\n"),
        ("cp1252", "temp: 20 °C, width ± 5 µm, § 3\n"),
    ],
)
def test_legacy_text_is_shown_as_it_was_written(encoding: str, text: str) -> None:
    for lines in (text, text * 30):
        content = lines.encode(encoding)
        found = detect_bytes(content)
        assert not found.binary
        assert content.decode(found.encoding) == lines
        assert (found.newline, found.final_newline) == (expected_newline(lines), True)


def test_one_legacy_character_deep_in_a_long_log_is_seen() -> None:
    line = b"2024-01-01 00:00:00 INFO nothing to say here\n"
    content = line * 60_000 + b"caf\xe9\n" + line * 60_000
    assert detect_bytes(content) == TextFormat("cp1252", 0, Newline.LF, final_newline=True)


def test_bytes_that_no_windows_code_page_has_fall_back_to_latin1() -> None:
    content = b"caf\xe9 \x81\x8d\x8f\x90\x9d\n"
    assert content.decode(detect_bytes(content).encoding)


@pytest.mark.parametrize("stray", [b"\xff", b"\xc3", b"\xe9t", b"\xed\xa0\x80"])
def test_mostly_utf8_with_stray_bytes_stays_utf8(stray: bytes) -> None:
    for filler in ("größe über\n".encode() * 3, "größe über\n".encode() * 200_000):
        assert detect_bytes(filler + stray + b"\n" + filler).encoding == "utf-8"


def test_a_log_cut_inside_its_last_character_stays_utf8() -> None:
    content = "größe über\n".encode() * 10 + "…".encode()[:2]
    assert detect_bytes(content) == TextFormat("utf-8", 0, Newline.LF, final_newline=False)


def an_archive() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "plain text " * 1000)
    return file.getvalue()


BINARIES = {
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "gif": b"GIF89a\x01\x00\x01\x00\x80\x00\x00",
    "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "elf": b"\x7fELF\x02\x01\x01" + b"\x00" * 57,
    "zip": an_archive(),
    "gzip": gzip.compress(b"plain text " * 1000),
    "deflate": zlib.compress(random.Random(1).randbytes(4000)),
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "sqlite": b"SQLite format 3\x00\x10\x00\x01\x01" + b"\x00" * 80,
    "class": b"\xca\xfe\xba\xbe\x00\x00\x00\x41",
    "pyc": b"\xa7\r\r\n\x00\x00\x00\x00" + marshal.dumps(compile("a = 1", "a.py", "exec")),
    "tar": b"name" + b"\x00" * 253 + b"ustar\x0000" + b"\x00" * 248 + b"plain text\n" * 500,
    "random": random.Random(2).randbytes(5000),
    "numbers": struct.pack("<500i", *range(500)),
    "doubles": struct.pack("<500d", *(number / 7 for number in range(500))),
    "zeros": bytes(5000),
    "marked but no text": codecs.BOM_UTF16_LE + random.Random(3).randbytes(4000),
    "webp": b"RIFF\x24\x00\x00\x00WEBPVP8 ",
}


@pytest.mark.parametrize("kind", BINARIES)
def test_binary_formats_are_told(kind: str) -> None:
    assert detect_bytes(BINARIES[kind]) == text_format.BINARY


@pytest.mark.parametrize("word", ["RIFF", "BM", "MZ", "ID3", "OggS", "GIF89a", "BZh", "PAR1", "Obj", "PK"])
def test_text_that_begins_with_the_word_of_a_binary_format_is_text(word: str) -> None:
    assert not names_binary(f"{word} is what this note is about.\n".encode())
    assert not detect_bytes(f"{word} is what this note is about.\n".encode()).binary


def test_python_own_byte_code_and_library_are_told() -> None:
    sources = os.path.dirname(os.__file__)
    for name in ("os.py", "ast.py", "ctypes/__init__.py"):
        with open(os.path.join(sources, name), "rb") as file:
            assert detect_bytes(file.read()).encoding == "utf-8"


def test_a_file_that_shrinks_while_it_is_read_is_answered() -> None:
    content = b"line\n" * 1000
    found = detect(lambda offset, size: content[offset : offset + size], 10 * len(content))
    assert found == TextFormat("utf-8", 0, Newline.LF, final_newline=True)


@given(st.binary(max_size=300))
def test_any_bytes_get_a_format_whose_encoding_python_knows(content: bytes) -> None:
    found = detect_bytes(content)
    assert found.binary or content[found.bom :].decode(found.encoding, "replace") is not None


@given(st.binary(max_size=300))
def test_valid_utf8_is_never_taken_for_a_legacy_encoding(content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError:
        return
    found = detect_bytes(content)
    assert found.binary or found.encoding == "utf-8" or found.encoding in WIDE


@pytest.mark.parametrize("nuls", [64, 4095, 65536, 3 << 20])
@pytest.mark.parametrize("text", ["10:00 started\nok\n", "10:00 café\n", "x"])
def test_a_log_that_begins_with_a_hole_is_the_text_behind_it(nuls: int, text: str) -> None:
    assert detect_bytes(bytes(nuls) + text.encode()) == detect_bytes(text.encode())
    assert detect_bytes(bytes(nuls) + text.encode("latin-1")).encoding == detect_bytes(text.encode("latin-1")).encoding


def test_a_hole_in_text_of_a_legacy_encoding_leaves_it_text() -> None:
    text = "".join(f"{at:05d} これは日本語の長い文章です。\n" for at in range(2_000)).encode("cp932")
    assert detect_bytes(text + bytes(200_000) + text).encoding == detect_bytes(text).encoding == "cp932"


@pytest.mark.parametrize("behind", [b"", b"\x89PNG\r\n\x1a\n" + bytes(200), bytes(range(256)) * 8])
def test_a_hole_with_nothing_or_with_no_text_behind_it_is_binary(behind: bytes) -> None:
    assert detect_bytes(bytes(4096) + behind).binary


@given(
    st.lists(
        st.sampled_from(["表示", "ソース", "能力", "文字", "ひらがな", "です", "if", "{", "\\n", "~", "w62"]),
        min_size=3,
        max_size=30,
    ),
    st.sampled_from(["cp932", "euc-jp", "gb18030", "euc-kr", "big5"]),
)
def test_whatever_encoding_is_guessed_the_bytes_of_ascii_are_ascii(words: list[str], encoding: str) -> None:
    """shift_jis_2004, as chardet may name Shift-JIS, reads a backslash as a yen sign."""
    words = [word for word in words if word.isascii() or encoding in ("cp932", "euc-jp")]
    found = detect_bytes(" ".join(words).encode(encoding) + "\n漢字\n".encode(encoding))
    ascii_bytes = bytes(range(0x20, 0x7F))
    assert found.encoding.startswith("utf-") or ascii_bytes.decode(found.encoding).encode(found.encoding) == ascii_bytes
    assert ascii_bytes.decode("utf-8" if found.encoding.startswith("utf-") else found.encoding) == ascii_bytes.decode()


def test_shift_jis_that_is_thin_evidence_keeps_its_backslashes() -> None:
    content = "w1 です 文字 ひらがな です\n{ w2\nw3 検索 文字 if 日本語 w4 ソース \\n\n".encode("shift_jis")
    found = detect_bytes(content)
    assert found.encoding == "cp932"
    assert "\\n" in content.decode(found.encoding)


@pytest.mark.parametrize("name", sorted(TEXTS))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", *WIDE])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "last"])
def test_a_glance_at_a_long_text_tells_what_reading_it_tells(name: str, encoding: str, newline: str, end: str) -> None:
    lines = TEXTS[name].replace("\n", newline)
    text = (lines * (900_000 // len(lines.encode())) + end).encode(encoding)
    if encoding in MARKS and encoding != "utf-8":
        text = MARKS[encoding] + text
    read_bytes = 0

    def read(offset: int, size: int) -> bytes:
        nonlocal read_bytes
        read_bytes += size
        return text[offset : offset + size]

    assert glance(read, len(text)) == detect_bytes(text)
    assert read_bytes <= 256 << 10


def test_a_glance_sees_other_encodings_at_the_end() -> None:
    text = b"plain line\n" * 60_000 + "na\u00efve caf\u00e9\n".encode("cp1252") * 2_000
    assert glance(lambda offset, size: text[offset : offset + size], len(text)).encoding == "cp1252"
