"""Help that teaches: commands whose `--help` ends with examples, each with what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

Examples = Sequence[tuple[str, str]]
"""Command lines, and what each does."""


_LONGEST_EXAMPLE = 48
"""Characters of a command line beside which its explanation still stands."""
_EXPLANATION = 24
"""Columns that an explanation needs beside its command line; on narrower terminals it stands below."""


class TaughtCommand(click.Command):
    """A command with examples in its help; they are not rewrapped."""

    def __init__(self, *arguments: Any, examples: Examples = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the epilog."""
        if self.examples:
            with formatter.section("Examples"):
                longest = min(max(len(line) for line, _ in self.examples), _LONGEST_EXAMPLE)
                if formatter.width - longest >= _EXPLANATION:
                    formatter.write_dl(list(self.examples), col_max=_LONGEST_EXAMPLE)
                else:
                    for line, does in self.examples:
                        formatter.write(f"  {line}\n      {does}\n")
        super().format_epilog(ctx, formatter)


class TaughtGroup(TaughtCommand, click.Group):
    """A group of commands with examples in its help."""
