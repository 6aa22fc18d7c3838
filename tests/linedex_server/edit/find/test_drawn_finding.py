from __future__ import annotations

import random

import pytest
from tests.linedex_server.edit.drawn_blocks import Block, alone, draw, slipped, stale
from tests.linedex_server.edit.finding import edited

from linedex_server.edit.find.locate import Wanted
from linedex_server.edit.find.verdicts import ChangesNotPlaced


def source(chance: random.Random, step: str) -> tuple[str, ...]:
    """Return a program of nested blocks, with strings, comments, empty lines and lines that stand all over."""
    lines: list[str] = []
    names = [f"{chance.choice(['get', 'put', 'free', 'lock'])}_{chance.randint(0, 99)}" for _ in range(60)]
    depth = 0
    for _ in range(400):
        one, other = chance.choices(names, k=2)
        line = chance.choice(
            [
                f"{one} = {other}(x, {chance.randint(0, 999)});",
                f'print("{one}  of %d", {other});',
                f"// {one} isn't {other} - see 3-{chance.randint(4, 99)}",
                f"if ({one} >= {other}) {{",
                "break;",
                "}",
            ]
        )
        depth = max(0, depth - line.startswith("}"))
        lines.append(step * depth + line)
        depth = min(5, depth + line.endswith("{"))
        if chance.random() < 0.15:
            lines.append("")
    return tuple(lines)


def drawn(seed: int, step: str, wanted: int) -> list[tuple[Block, random.Random]]:
    chance = random.Random(seed)
    found: list[tuple[Block, random.Random]] = []
    while len(found) < wanted:
        block = draw("generated", source(chance, step) if not found else found[0][0].lines, chance)
        if block:
            found.append((block, chance))
    return found


@pytest.mark.parametrize("step", ["\t", "    ", "  "])
def test_a_search_with_a_stale_word_is_never_placed(step: str) -> None:
    for block, chance in drawn(1, step, 150):
        search = stale(block, chance)
        if search:
            with pytest.raises(ChangesNotPlaced):
                edited("\n".join(block.lines), Wanted(search, search + "X"))


@pytest.mark.parametrize("step", ["\t", "    ", "  "])
def test_a_search_with_a_slip_of_format_is_placed_rightly_or_seldom_refused(step: str) -> None:
    asked = refused = 0
    for block, chance in drawn(2, step, 250):
        one = slipped(block, chance) if alone(block) else None
        if one is None:
            continue
        asked += 1
        try:
            assert edited("\n".join(block.lines), Wanted(one.search, one.replace)) == one.expected, one.kind
        except ChangesNotPlaced:
            refused += 1
    assert asked > 60
    assert refused <= 0.03 * asked
