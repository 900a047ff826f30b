"""CONFIG, for the one parameter that the model has: which events of keys the server publishes."""

from zonelab.cluster.event_flags import MISSES, EventFlags
from zonelab.cluster.glob import matches
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OK, MapReply, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_EVENTS = b"notify-keyspace-events"
_ELSEWHERE = "run with --on process"
_FAILED = f"ERR CONFIG SET failed (possibly related to argument '{_EVENTS.decode()}') - "


@command("config|get", -3)
def get(store: Database, args: Args) -> Reply:
    for pattern in args:
        if matches(pattern.lower(), _EVENTS):
            named = pattern if pattern.lower() == _EVENTS else _EVENTS
            return MapReply([named, str(store.event_flags).encode()])
    return MapReply()


@command("config|set", -4)
def set_(store: Database, args: Args) -> Reply:
    if len(args) % 2:
        fail("ERR wrong number of arguments for 'config|set' command")
    others = [text(name) for name in args[::2] if name.lower() != _EVENTS]
    if others:
        fail(f"ERR got parameter '{others[0]}'; the simulated server models {_EVENTS.decode()} only; {_ELSEWHERE}")
    if len(args) > 2:
        fail(f"{_FAILED}duplicate parameter")
    store.publish_events(_flags(text(args[1])))
    return OK


def _flags(letters: str) -> EventFlags:
    try:
        return EventFlags.read(letters)
    except ValueError:
        if MISSES in letters:
            fail(f"{_FAILED}the simulated server does not model misses (m); {_ELSEWHERE}")
        fail(f"{_FAILED}Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
