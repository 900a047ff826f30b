"""The help of zonelab, of its groups of verbs and of each verb: whole first sentences in lists, examples at the end."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

from zonelab.app.cli.examples import EXAMPLES

_WHOLE = 1_000
"""Characters of a verb's first sentence that are shown."""


class Verb(TyperCommand):
    """A verb, whose help ends with examples."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(ctx, formatter)


class VerbGroups(TyperGroup):
    """Lists commands under the heading that each has as its ``rich_help_panel``, or else as commands."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        headings: dict[str, list[tuple[str, str]]] = {}
        longest = max(map(len, self.commands))
        for name, command in self.commands.items():
            text = command.get_short_help_str(_WHOLE)
            headings.setdefault(str(getattr(command, "rich_help_panel", None) or "Commands"), []).append(
                (name.ljust(longest), text)
            )
        for heading, rows in headings.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(ctx, formatter)
        super().format_epilog(ctx, formatter)


def _write_examples(ctx: Any, formatter: Any) -> None:
    """Write each example on a line of its own, whole, so that it can be copied."""
    path = ctx.command_path.removeprefix("zonelab").strip()
    if examples := EXAMPLES.get(path):
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"  zonelab {example}\n")
