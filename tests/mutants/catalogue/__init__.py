"""The catalogue: every mutant, by area. The files beside this one list them, in the order in which they are planted."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mutants.mutant import Mutant

_FILES = {
    "engine V1": "engine_v1",
    "engine V2": "engine_v2",
    "engine hardened": "engine_hardened",
    "engine gmq": "engine_gmq",
    "gmq as a service": "gmq_service",
    "engine fifo, fenced": "engine_fenced",
    "engines youzan and zset": "engines_simple",
    "votes": "votes",
    "coordinators": "coordinators",
    "strict mode": "strict",
    "links": "links",
    "simulated Redis": "sim",
    "checkers": "checkers",
    "checker of order": "checkers_order",
    "clients": "clients",
    "programs of one's own": "programs",
    "evaluations": "evaluate",
    "live page": "monitor",
}


def mutant_of(told: Mapping[str, Any]) -> Mutant:
    """A mutant as a file of the catalogue has it; ``in`` is ``MODULE:FUNCTION``."""
    fields = dict(told)
    module, _, function = fields.pop("in").partition(":")
    return Mutant(module=module, function=function, **fields)


def _read(name: str) -> Sequence[Mutant]:
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    return tuple(map(mutant_of, yaml.safe_load(text)))


AREAS: Mapping[str, Sequence[Mutant]] = {area: _read(name) for area, name in _FILES.items()}
MUTANTS = tuple(mutant for area in AREAS.values() for mutant in area)
