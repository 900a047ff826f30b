"""What a command of the service is for: its name, or that of the script it runs."""

from pathlib import Path

import zonelab.engine.gmq

SCRIPTS = {
    path.read_bytes(): path.stem.removeprefix("original_")
    for path in Path(zonelab.engine.gmq.__file__).parent.glob("*.lua")
}


def step_of(command):
    """``command``: a list of bytes. A card is ``add`` for a delayed job, ``lease`` for one in flight."""
    name = command[0].upper().decode()
    if name != "EVAL":
        return name
    script = SCRIPTS.get(command[1], "script")
    return "lease" if script == "add_to_bucket" and b":bucket:TTR:" in command[3] else script


def took(command, reply):
    """Whether a command that takes jobs took any: of others it is always so."""
    if command[0].upper() == b"RPOP":
        return reply is not None
    if step_of(command) == "due":
        ids = reply[1:] if b"ZREM', KEYS[1], id) == 1" in command[1] else reply[2:]
        return len(ids) > 0
    return True
