"""The commands of the model. Importing this package fills the table in ``cluster.sim.redis.registry``."""

from cluster.sim.redis.commands import (
    hashes,
    keys,
    lists,
    scan,
    server,
    sets,
    sortedset_ranges,
    sortedsets,
    sorting,
    strings,
)

__all__ = ["hashes", "keys", "lists", "scan", "server", "sets", "sortedset_ranges", "sortedsets", "sorting", "strings"]
