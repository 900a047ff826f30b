"""The list of verbs in ``--help`` of zonelab and of its groups of verbs, each with its whole first sentence."""

from typing import Any

from typer.core import TyperGroup

_WHOLE = 1_000
"""Characters of a verb's first sentence that are shown."""


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
