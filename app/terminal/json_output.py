"""Results on stdout, as JSON for commands with ``--json``."""

import json
import sys
from typing import Any, Protocol


class Printable(Protocol):
    """A result of a verb that can be printed."""

    def to_json(self) -> Any: ...
    def print(self) -> None: ...


def show(result: Printable, *, as_json: bool) -> None:
    if as_json:
        print_json(result.to_json())
    else:
        result.print()


def print_json(value: Any) -> None:
    """On stdout, and nothing else is written there."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    json.dump(value, sys.stdout, indent=2, ensure_ascii=not unicode)
    sys.stdout.write("\n")
    sys.stdout.flush()
