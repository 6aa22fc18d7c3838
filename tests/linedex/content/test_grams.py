import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.folding import fold
from linedex.content.grams import column, halve_rows, hash_grams, most_bits, positions, transpose


@given(st.binary(max_size=200), st.sampled_from([3, 4, 5]))
def test_each_gram_is_hashed_as_it_stands_alone(folded: bytes, gram: int) -> None:
    alone = [int(hash_grams(folded[at : at + gram], gram)[0]) for at in range(len(folded) - gram + 1)]
    assert hash_grams(folded, gram).tolist() == alone


@given(st.binary(min_size=3, max_size=400), st.floats(0.0, 0.5), st.sampled_from([3, 4, 5]))
def test_a_column_of_any_size_has_every_gram_of_its_text(folded: bytes, sparse: float, gram: int) -> None:
    bits, packed = column([hash_grams(folded, gram)], bits=most_bits(len(folded)), sparse=sparse)
    present = np.unpackbits(packed)
    assert len(present) == 1 << bits
    grams = [folded[at : at + gram] for at in range(len(folded) - gram + 1)]
    assert all(present[position] for position in positions(grams, bits))


@given(st.integers(1, 40), st.integers(1, 6), st.randoms(use_true_random=False))
def test_transposing_turns_columns_into_rows_and_back(count: int, width: int, random) -> None:
    bits = np.array([[random.random() < 0.4 for _ in range(width * 8)] for _ in range(count)])
    rows = transpose(np.packbits(bits, axis=1))
    assert (np.unpackbits(rows, axis=1)[:, :count] == bits.T).all()
    assert (transpose(rows)[:count] == np.packbits(bits, axis=1)).all()


def test_halving_rows_equals_halving_columns() -> None:
    hashes = hash_grams(bytes(range(97, 123)) * 4, 3)
    _, full = column([hashes], bits=10, sparse=0)
    _, half = column([hashes], bits=9, sparse=0)
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
