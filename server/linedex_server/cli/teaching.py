"""Help that teaches: commands whose `--help` ends with examples, each with what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

Examples = Sequence[tuple[str, str]]
"""Command lines, and what each does."""


class TaughtCommand(click.Command):
    """A command with examples in its help; they are not rewrapped."""

    def __init__(self, *arguments: Any, examples: Examples = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the epilog."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_dl(list(self.examples), col_max=48)
        super().format_epilog(ctx, formatter)


class TaughtGroup(TaughtCommand, click.Group):
    """A group of commands with examples in its help."""
