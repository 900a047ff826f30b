"""Values of a scenario that a caller sets, as the texts that the command line has for them."""

import json
from collections.abc import Mapping


def override_texts(values: Mapping[str, object] | None) -> list[str]:
    """``{"load.duration_s": 5}`` as ``load.duration_s=5``. Raises ``TypeError`` for what JSON cannot say."""
    return [f"{path}={json.dumps(value)}" for path, value in (values or {}).items()]
