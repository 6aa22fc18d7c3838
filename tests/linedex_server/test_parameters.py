"""What tools accept, and how a mistake is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from linedex.errors import BadArgument
from linedex_server.tools.parameters import (
    Parameter,
    choice,
    flag,
    input_schema,
    line_ranges,
    or_null,
    records,
    taken,
    text,
    whole,
)

PARAMETERS: Sequence[Parameter] = (
    Parameter("path", text(), "A path."),
    Parameter("limit", whole(1, 100), "How many.", 10),
    Parameter("fuzzy", flag(), "Near ones too.", default=False),
    Parameter("mode", choice("lines", "tail"), "How.", "lines"),
    Parameter("pattern", text(), "What.", None),
    Parameter("changed_lines", line_ranges(), "Where.", None),
)


@pytest.mark.parametrize("value", ["null", "true", "20", "[1]", '{"a": 1}', "", " x ", "\ud800", "a\nb"])
def test_a_text_is_never_read_as_anything_but_itself(value: str) -> None:
    assert taken(PARAMETERS, {"path": value, "pattern": value}).maybe_text("pattern") == value


@pytest.mark.parametrize(("value", "number"), [(20, 20), ("20", 20), (" 20 ", 20), (20.0, 20)])
def test_a_number_may_come_as_text(value: object, number: int) -> None:
    assert taken(PARAMETERS, {"path": "a", "limit": value}).whole("limit") == number


@pytest.mark.parametrize(("value", "truth"), [(True, True), ("true", True), ("False", False), (False, False)])
def test_a_truth_value_may_come_as_text(value: object, truth: bool) -> None:
    assert taken(PARAMETERS, {"path": "a", "fuzzy": value}).flag("fuzzy") is truth


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path", 7),
        ("path", ["a"]),
        ("limit", "many"),
        ("limit", True),
        ("limit", 0),
        ("limit", 101),
        ("limit", 2.5),
        ("limit", "9" * 5000),
        ("limit", float("nan")),
        ("fuzzy", 1),
        ("fuzzy", "maybe"),
        ("mode", "tall"),
        ("mode", ["tail"]),
        ("changed_lines", "1-2"),
        ("changed_lines", [[1]]),
        ("changed_lines", [[5, 4]]),
        ("changed_lines", [[1, 2, "moved"]]),
        ("changed_lines", [[0, 2]]),
    ],
)
def test_a_mistyped_parameter_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(BadArgument, match=f"`{name}`"):
        taken(PARAMETERS, {"path": "a", name: value})


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(BadArgument, match="`path` is missing"):
        taken(PARAMETERS, {})


def test_an_unknown_parameter_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(BadArgument, match="`patern`") as caught:
        taken(PARAMETERS, {"path": "a", "patern": "x"})
    assert "pattern" in caught.value.hint


def test_null_means_not_given() -> None:
    given_ = taken(PARAMETERS, {"path": "a", "limit": None, "pattern": None})
    assert given_.whole("limit") == 10
    assert given_.maybe_text("pattern") is None


def test_line_ranges_are_modified_unless_they_say_otherwise() -> None:
    given_ = taken(PARAMETERS, {"path": "a", "changed_lines": [[1, 2], ["3", 4.0, "added"]]})
    assert given_.ranges("changed_lines") == ((1, 2, "modified"), (3, 4, "added"))


def test_the_schema_is_valid_has_no_titles_and_takes_no_other_keys() -> None:
    schema = input_schema(PARAMETERS)
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["path"]
    assert "title" not in str(schema)
    assert all(one["description"] for one in schema["properties"].values())


values = st.none() | st.booleans() | st.integers(-5, 200) | st.text(max_size=5) | st.lists(st.integers(), max_size=3)


@given(st.fixed_dictionaries({"path": st.text()}, optional={"limit": values, "fuzzy": values, "mode": values}))
def test_whatever_the_schema_allows_is_taken(arguments: dict[str, Any]) -> None:
    if Draft202012Validator(input_schema(PARAMETERS)).is_valid(arguments):
        given_ = taken(PARAMETERS, arguments)
        assert given_.whole("limit") == arguments.get("limit", 10)
        assert given_.flag("fuzzy") == arguments.get("fuzzy", False)


ITEMS: Sequence[Parameter] = (
    Parameter(
        "edits",
        records(
            (
                Parameter("start_line", whole(1), "First."),
                Parameter("new_text", text(), "New."),
                Parameter("fuzzy", flag(), "Near.", default=True),
            ),
            3,
        ),
        "Edits.",
    ),
)


def test_items_of_a_list_have_their_values_and_defaults() -> None:
    (one, two) = taken(
        ITEMS, {"edits": [{"start_line": "2", "new_text": ""}, {"start_line": 3, "new_text": "a", "fuzzy": "false"}]}
    ).records("edits")
    assert (one.whole("start_line"), one.text("new_text"), one.flag("fuzzy")) == (2, "", True)
    assert (two.whole("start_line"), two.text("new_text"), two.flag("fuzzy")) == (3, "a", False)


@pytest.mark.parametrize(
    ("items", "said", "hint"),
    [
        (
            [{"start_line": 1, "newtext": ""}],
            "The parameter `edits`, item 0: There is no parameter `newtext`.",
            "new_t",
        ),
        (
            [{"start_line": 1, "new_text": ""}, {"new_text": ""}],
            "item 1: The parameter `start_line` is missing",
            "First",
        ),
        ([{"start_line": True, "new_text": ""}], "item 0: The parameter `start_line` is true", "First"),
        (["a"], "item 0 is no object", "Edits"),
        ([], "a list of 1 to 3 objects is needed", "Edits"),
        ([{"start_line": 1, "new_text": ""}] * 4, "a list of 1 to 3 objects is needed", "Edits"),
        ('[{"start_line": 1, "new_text": ""}]', "a list of 1 to 3 objects is needed", "Edits"),
    ],
)
def test_a_mistake_in_an_item_is_named_with_the_item(items: object, said: str, hint: str) -> None:
    with pytest.raises(BadArgument) as refused:
        taken(ITEMS, {"edits": items})
    assert said in str(refused.value)
    assert hint in refused.value.hint


def test_null_is_a_value_where_a_kind_says_so() -> None:
    parameters = (Parameter("count", or_null(whole(0)), "How often.", 1),)
    assert taken(parameters, {}).maybe_whole("count") == 1
    assert taken(parameters, {"count": None}).maybe_whole("count") is None
    assert taken(parameters, {"count": "3"}).maybe_whole("count") == 3
    with pytest.raises(BadArgument):
        taken(parameters, {"count": -1})
    Draft202012Validator(input_schema(parameters)).validate({"count": None})
