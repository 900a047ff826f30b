"""The configuration file of a zone's server."""

from collections.abc import Sequence

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.zone import Persistence

SavePoints = Sequence[tuple[int, int]]
"""RDB snapshots: (seconds, changes) pairs, a snapshot when both have passed since the last one."""

DEFAULT_SAVE_POINTS: tuple[tuple[int, int], ...] = ((3600, 1), (300, 100), (60, 10_000))
"""The servers' own default."""

HASH_SEED = "zonelab"

_APPEND_FSYNC = {
    Persistence.AOF_ALWAYS: "always",
    Persistence.AOF_EVERYSEC: "everysec",
    Persistence.AOF_NO: "no",
}


def server_configuration(
    *,
    persistence: Persistence,
    bind: str,
    port: int,
    directory: str,
    save_points: SavePoints,
    protected: bool,
    events: EventFlags,
    socket: str | None = None,
    hash_seed: bool = False,
) -> str:
    """The text of a configuration file that Redis 7 and Valkey read; ``socket`` is a file to listen at as well.

    ``hash_seed``: the server knows this setting. With the same seed everywhere, servers with equal histories of writes
    have their keys in the same order, so that scripts which SCAN find them alike.
    """
    settings = [
        ("bind", bind),
        ("port", str(port)),
        ("protected-mode", "yes" if protected else "no"),
        ("daemonize", "no"),
        # A port serves database 0 only, and so do the scripts that pass it: what SWAPDB and MOVE do there no other
        # zone's clients would see.
        ("databases", "1"),
        *([("hash-seed", HASH_SEED)] if hash_seed else []),
        ("dir", directory),
        ("logfile", ""),
        # A replica of a zone is only ever a warm restart, which waits for it: begin its copy without delay, load it
        # from the socket (a file is noticed a second later), and leave no file behind that a zone without persistence
        # would find at its next restart.
        ("repl-diskless-sync-delay", "0"),
        ("repl-diskless-load", "on-empty-db"),
        ("rdb-del-sync-files", "yes"),
        ("notify-keyspace-events", events.letters),
        *([] if socket is None else [("unixsocket", socket), ("unixsocketperm", "700")]),
        *_persistence(persistence, save_points),
    ]
    return "".join(f"{name} {_quoted(value)}\n" for name, value in settings)


def _persistence(persistence: Persistence, save_points: SavePoints) -> list[tuple[str, str]]:
    if persistence is Persistence.RDB:
        return [("save", f"{seconds} {changes}") for seconds, changes in save_points]
    fsync = _APPEND_FSYNC.get(persistence)
    append = [("appendonly", "no")] if fsync is None else [("appendonly", "yes"), ("appendfsync", fsync)]
    return [("save", ""), *append]


def _quoted(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace('"', '\\"')
    # Words of a `save` line are separate arguments; every other value is one.
    return value if value.replace(" ", "").isdigit() else f'"{plain}"'
