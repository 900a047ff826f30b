"""Commands on the server itself."""

from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OK, SYNTAX, StatusReply, fail, wrong_arity
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

MODELLED = "9.1"
"""The version of Valkey whose replies the model gives."""

_INFO = f"# Server\r\nredis_version:7.2.4\r\nserver_name:simulated-valkey\r\nsimulated-valkey_version:{MODELLED}\r\n"


@command("ping", -1)
def ping(store: Database, args: Args) -> Reply:
    if len(args) > 1:
        wrong_arity("ping")
    return args[0] if args else StatusReply(b"PONG")


@command("echo", 2)
def echo(store: Database, args: Args) -> Reply:
    return args[0]


@command("time", 1)
def time(store: Database, args: Args) -> Reply:
    seconds, microseconds = divmod(store.now_us, 1_000_000)
    return [b"%d" % seconds, b"%d" % microseconds]


@command("info", -1)
def info(store: Database, args: Args) -> Reply:
    """The server section, whatever section is asked for."""
    return f"{_INFO}run_id:{store.run_id}\r\n".encode()


@command("dbsize", 1)
def dbsize(store: Database, args: Args) -> Reply:
    return len(store)


@command("flushall", -1)
@command("flushdb", -1)
def flush(store: Database, args: Args) -> Reply:
    if len(args) > 1 or (args and args[0].upper() not in (b"SYNC", b"ASYNC")):
        fail(SYNTAX)
    store.clear()
    store.changes += 1
    return OK
