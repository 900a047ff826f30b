"""Results as JSON, for commands with ``--json``."""

import json
import sys
from typing import Any


def print_json(value: Any) -> None:
    """On stdout, and nothing else is written there."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
    sys.stdout.flush()
