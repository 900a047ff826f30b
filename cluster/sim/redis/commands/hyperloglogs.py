"""PFADD, PFCOUNT and PFMERGE: sketches of how many different elements there were, as strings that the server reads."""

import numpy as np

from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OK, fail
from zonelab.cluster.sim.redis.sketch import DENSE_BYTES, HEADER_BYTES, MAGIC, Registers, Sketch, estimate, new_sketch
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_NO_SKETCH = "WRONGTYPE Key is not a valid HyperLogLog string value."


def _read(store: Database, key: bytes) -> Sketch | None:
    value = store.get(key, bytes)
    if value is None:
        return None
    dense = value[len(MAGIC) : len(MAGIC) + 1] == b"\0"
    fits = len(value) == DENSE_BYTES if dense else len(value) >= HEADER_BYTES and value[len(MAGIC)] == 1
    if not fits or not value.startswith(MAGIC):
        fail(_NO_SKETCH)
    return Sketch(value)


@command("pfadd", -2)
def pfadd(store: Database, args: Args) -> Reply:
    sketch = _read(store, args[0])
    updated = int(sketch is None)
    sketch = sketch or new_sketch()
    if updated:
        sketch.cached = None
    try:
        for element in args[1:]:
            updated += sketch.add(element)
    finally:
        if updated:
            store.put(args[0], sketch.written(), keep_expiry=True)
    store.changed(args[0], "pfadd", by=updated)
    return int(updated > 0)


@command("pfcount", -2)
def pfcount(store: Database, args: Args) -> Reply:
    if len(args) > 1:
        return estimate(_merged(store, args)[0])
    sketch = _read(store, args[0])
    if sketch is None:
        return 0
    if sketch.cached is None:
        sketch.cached = estimate(sketch.registers())
        store.put(args[0], sketch.written(), keep_expiry=True)
        store.changes += 1
    return sketch.cached


def _merged(store: Database, keys: Args) -> tuple[Registers, bool]:
    """Return the highest value of each register, and whether one of the sketches is dense."""
    highest, dense = new_sketch().registers(), False
    for key in keys:
        if (sketch := _read(store, key)) is not None:
            highest = np.maximum(highest, sketch.registers())
            dense |= sketch.dense
    return highest, dense


@command("pfmerge", -2)
def pfmerge(store: Database, args: Args) -> Reply:
    highest, dense = _merged(store, args)
    target = _read(store, args[0]) or new_sketch()
    if dense:
        target.make_dense()
    for register in np.flatnonzero(highest).tolist():
        target.raise_to(register, int(highest[register]))
    target.cached = None
    store.put(args[0], target.written(), keep_expiry=True)
    store.changed(args[0], "pfadd")
    return OK
