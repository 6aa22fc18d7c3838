import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content import grams
from linedex.content.folding import fold
from linedex.content.grams import column, halve_rows, hash_grams, most_bits, positions, transpose

GRAM = st.sampled_from([3, 4, 5])


def hashes_of(texts: list[bytes], *lengths: int) -> list[list[int]]:
    """Return the sorted hashes of each text."""
    return [sorted(value for part in parts for value in part.ravel().tolist()) for parts in hash_grams(texts, lengths)]


@given(st.binary(max_size=200), GRAM)
def test_each_gram_is_hashed_as_it_stands_alone(folded: bytes, gram: int) -> None:
    places = (len(folded) + 1) // 4 * 4
    padded = folded + bytes(8)
    assert places >= len(folded) - 2
    assert hashes_of([folded], gram) == [sorted(positions([padded[at : at + gram] for at in range(places)], 32))]


@given(st.lists(st.binary(max_size=60), max_size=8), st.lists(GRAM, min_size=1, max_size=3), st.integers(1, 30))
def test_hashes_depend_on_neither_neighbours_nor_stretches(texts: list[bytes], lengths: list[int], fours: int) -> None:
    alone = [hashes_of([text], *lengths)[0] for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grams, "_CHUNK", fours * 4)
        assert hashes_of(texts, *lengths) == alone


@given(st.binary(min_size=3, max_size=400), st.floats(0.0, 0.5), GRAM)
def test_a_column_of_any_size_has_every_gram_of_its_text(folded: bytes, sparse: float, gram: int) -> None:
    bits, packed = column(next(hash_grams([folded], [gram])), bits=most_bits(len(folded)), sparse=sparse)
    present = np.unpackbits(packed)
    assert len(present) == 1 << bits
    wanted = [folded[at : at + gram] for at in range(len(folded) - gram + 1)]
    assert all(present[position] for position in positions(wanted, bits))


@given(st.binary(min_size=3, max_size=400), st.floats(0.05, 0.5))
def test_a_column_is_as_full_as_was_asked_unless_it_has_the_least_size(folded: bytes, sparse: float) -> None:
    hashes = next(hash_grams([folded], [3, 4]))
    bits, packed = column(hashes, bits=12, sparse=sparse)
    assert bits == 8 or np.unpackbits(packed).mean() >= sparse


@given(st.integers(1, 40), st.integers(1, 6), st.randoms(use_true_random=False))
def test_transposing_turns_columns_into_rows_and_back(count: int, width: int, random) -> None:
    bits = np.array([[random.random() < 0.4 for _ in range(width * 8)] for _ in range(count)])
    rows = transpose(np.packbits(bits, axis=1))
    assert (np.unpackbits(rows, axis=1)[:, :count] == bits.T).all()
    assert (transpose(rows)[:count] == np.packbits(bits, axis=1)).all()


def test_halving_rows_equals_halving_columns() -> None:
    text = bytes(range(97, 123)) * 4
    hashes = next(hash_grams([text], [3]))
    _, full = column(hashes, bits=10, sparse=0)
    _, half = column(hashes, bits=9, sparse=0)
    assert (halve_rows(transpose(full[None])) == transpose(half[None])).all()


@pytest.mark.parametrize(
    ("left", "right"), [("K", "\u212a"), ("s", "ſ"), ("ß", "ẞ"), ("Σ", "ς"), ("İ", "i"), ("É", "é"), ("Ǆ", "ǆ")]
)
def test_letters_that_match_without_case_fold_to_the_same_bytes(left: str, right: str) -> None:
    assert fold(left.encode()) == fold(right.encode())


@given(st.text(max_size=40), st.text(max_size=40))
def test_folding_commutes_with_concatenation(left: str, right: str) -> None:
    left, right = left.encode("utf-8", "replace").decode(), right.encode("utf-8", "replace").decode()
    assert fold((left + right).encode()) == fold(left.encode()) + fold(right.encode())
