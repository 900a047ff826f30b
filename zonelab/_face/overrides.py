"""Overrides of a scenario given as a mapping, in the form of ``--set``."""

import json
from collections.abc import Mapping


def override_texts(values: Mapping[str, object] | None) -> list[str]:
    """Return ``values`` as texts: ``{"load.duration_s": 5}`` as ``load.duration_s=5``.

    Raises ``TypeError`` for a value that has no form in JSON."""
    return [f"{path}={json.dumps(value)}" for path, value in (values or {}).items()]
