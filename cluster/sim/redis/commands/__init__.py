"""The commands of the model, a module a type of data.

Importing this package fills the table in ``zonelab.cluster.sim.redis.registry``: each command is a function that says
its name and arity with a decorator. Imports the store and the values of the model only.
"""

from zonelab.cluster.sim.redis.commands import (
    bits,
    common_part,
    copies,
    field_expiry,
    hashes,
    keys,
    lists,
    objects,
    pubsub,
    scan,
    server,
    sets,
    sortedset_combinations,
    sortedset_ranges,
    sortedsets,
    sorting,
    stream_claims,
    stream_groups,
    stream_info,
    stream_reads,
    streams,
    strings,
)

__all__ = [
    "bits",
    "common_part",
    "copies",
    "field_expiry",
    "hashes",
    "keys",
    "lists",
    "objects",
    "pubsub",
    "scan",
    "server",
    "sets",
    "sortedset_combinations",
    "sortedset_ranges",
    "sortedsets",
    "sorting",
    "stream_claims",
    "stream_groups",
    "stream_info",
    "stream_reads",
    "streams",
    "strings",
]
