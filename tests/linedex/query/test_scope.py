"""What a question asks of the files of a look, worked out once for each look and each set of filters."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import SearchRequest
from linedex.model import FileState, Fingerprint, RelPath
from linedex.query.scope import scope_of
from linedex.store.catalogue import FACTS, Catalogue, key_path, path_key
from linedex.store.look import Look, NewFile

KEYS = sorted(
    path_key(name) for name in (b".b", b"a.py", b"b.c", b"sub/.d.py", b"sub/c.py", b"sub/deep/e.txt", b"x.py")
)
STATES = (FileState.INDEXED, FileState.SKIPPED, FileState.PENDING)
NEW = tuple(NewFile(key, Fingerprint(1, 2, 3, 4, 5)) for key in (b"new.py", b"sub\0.new"))
REQUESTS = st.builds(
    SearchRequest,
    st.just("x"),
    include_hidden=st.booleans(),
    include_ignored=st.booleans(),
    include=st.sampled_from([(), ("*.py",), ("sub/**",)]),
    exclude=st.sampled_from([(), ("*.c",)]),
)
FLAGS = st.lists(st.booleans(), min_size=len(KEYS), max_size=len(KEYS)).map(np.array)


@st.composite
def looks(draw: st.DrawFn) -> Look:
    facts = np.zeros(len(KEYS), FACTS)
    facts["id"] = np.arange(100, 100 + len(KEYS))
    facts["hidden"] = [b"." in (key[:1], key[key.rfind(b"\0") + 1 :][:1]) for key in KEYS]
    facts["ignored"] = draw(FLAGS)
    facts["state"] = draw(st.lists(st.sampled_from(STATES), min_size=len(KEYS), max_size=len(KEYS)))
    catalogue = Catalogue.empty().with_added(KEYS, facts)
    catalogue.words.reasons.number("binary")
    scope = RelPath(draw(st.sampled_from([b"", b"sub"])))
    low, high = catalogue.below(scope)
    gone = draw(FLAGS)[low:high]
    new = tuple(file for file in draw(st.sampled_from([(), NEW])) if not scope or file.key.startswith(b"sub"))
    return Look(catalogue, scope, low, high, draw(FLAGS)[low:high] & ~gone, gone, new)


def _asked(look: Look, request: SearchRequest, key: bytes, *, ignored: bool) -> bool:
    path, below = key_path(key), key_path(key)[len(look.scope) :]
    hidden = b"/." in b"/" + below
    if (hidden and not request.include_hidden) or (ignored and not request.include_ignored):
        return False
    name = path.rsplit(b"/", 1)[-1]
    if request.include == ("*.py",) and not name.endswith(b".py"):
        return False
    if request.include == ("sub/**",) and not path.startswith(b"sub/"):
        return False
    return not (request.exclude and name.endswith(b".c"))


@given(looks(), REQUESTS, st.lists(st.integers(0, len(KEYS) - 1)), st.sampled_from([b"", *KEYS]))
def test_it_holds_what_a_file_by_file_judgement_says(
    look: Look, request: SearchRequest, passing: list[int], start: bytes
) -> None:
    scope = scope_of(look, request)
    facts = look.catalogue.facts
    indexed, read, skipped = [], [], 0
    for place in range(look.low, look.high):
        at = place - look.low
        asked = _asked(look, request, KEYS[place], ignored=bool(facts["ignored"][place]))
        if look.gone[at] or not asked:
            continue
        if look.current[at] and facts["state"][place] == FileState.INDEXED:
            indexed.append(place)
        elif look.current[at] and facts["state"][place] == FileState.SKIPPED:
            skipped += 1
        else:
            read.append(place)
    new = [file.key for file in look.new if _asked(look, request, file.key, ignored=False)]
    assert scope.known.tolist() == sorted(indexed + read)
    assert scope.read.tolist() == read
    assert (scope.by_index, scope.by_reading) == (len(indexed), len(read) + len(new))
    assert sum(scope.skipped.values()) == skipped

    verified = scope.verified(np.array(passing, np.intp))
    assert verified.tolist() == sorted(set(read) | (set(passing) & set(indexed)))
    entries = list(scope.entries(verified, start))
    wanted = sorted([KEYS[place] for place in verified.tolist()] + new)
    assert [entry.key for entry in entries] == [key for key in wanted if key >= start]
    assert all((entry.known is not None) == (entry.place in indexed) for entry in entries)


@given(looks(), st.lists(REQUESTS, min_size=1, max_size=30))
def test_it_is_kept_with_the_look_for_the_same_filters_and_for_no_others(
    look: Look, requests: list[SearchRequest]
) -> None:
    for request in requests:
        kept = scope_of(look, request)
        assert scope_of(look, request) is kept
        fresh = scope_of(Look(*(getattr(look, name) for name in Look.__slots__[:7])), request)
        assert kept.known.tolist() == fresh.known.tolist()
        assert (kept.new, kept.skipped) == (fresh.new, fresh.skipped)
        assert len(look.derived) <= 6
