"""The catalogue: every mutant, by area."""

from collections.abc import Mapping, Sequence

from mutants.catalogue import (
    checkers,
    checkers_order,
    clients,
    coordinators,
    engine_fenced,
    engine_gmq,
    engine_hardened,
    engine_v1,
    engine_v2,
    engines_simple,
    gmq_service,
    links,
    monitor,
    sim,
    strict,
    votes,
)
from mutants.mutant import Mutant

AREAS: Mapping[str, Sequence[Mutant]] = {
    "engine V1": engine_v1.MUTANTS,
    "engine V2": engine_v2.MUTANTS,
    "engine hardened": engine_hardened.MUTANTS,
    "engine gmq": engine_gmq.MUTANTS,
    "gmq as a service": gmq_service.MUTANTS,
    "engine fifo, fenced": engine_fenced.MUTANTS,
    "engines youzan and zset": engines_simple.MUTANTS,
    "votes": votes.MUTANTS,
    "coordinators": coordinators.MUTANTS,
    "strict mode": strict.MUTANTS,
    "links": links.MUTANTS,
    "simulated Redis": sim.MUTANTS,
    "checkers": checkers.MUTANTS,
    "checker of order": checkers_order.MUTANTS,
    "clients": clients.MUTANTS,
    "live page": monitor.MUTANTS,
}

MUTANTS = tuple(mutant for area in AREAS.values() for mutant in area)
