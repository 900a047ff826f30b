"""Commands that a server carries out in transactions and scripts, and a client's own connection elsewhere.

A blocking command is answered at once there, as if its time were over. On its own it waits on the client's side
(``zonelab.cluster.client``): on a connection that programs share it would stop all of them.
"""

from functools import partial

from zonelab.cluster.commands.waiting_forms import ARITIES, Waiting, waiting_form
from zonelab.cluster.sim.redis.registry import Args, CommandSpec, CommandTable, add, find
from zonelab.cluster.sim.redis.reply import OK, fail
from zonelab.cluster.sim.redis.server_commands import not_modelled
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply, ServerError

QUEUED_COMMANDS: CommandTable = {}
"""By name, as in the table of all other commands."""


def _unwatch(store: Database, args: Args) -> Reply:
    return OK  # EXEC itself has ended it


add(QUEUED_COMMANDS, CommandSpec("unwatch", 1, _unwatch))


def _at_once(name: str, store: Database, args: Args) -> Reply:
    form = waiting_form(name, [name.encode(), *args])
    assert form is not None
    if not isinstance(form, Waiting):
        if form.error:
            fail(form.error)
        return _run(store, form.words)
    for attempt in form.attempts:
        reply = _run(store, attempt.words)
        if reply is None or reply == []:
            continue
        if attempt.named is None or isinstance(reply, ServerError):
            return reply
        return [attempt.named, *(reply if isinstance(reply, list) else [reply])]
    return None


def _run(store: Database, words: tuple[bytes, ...]) -> Reply:
    spec = find(list(words))
    if spec is None:
        fail(f"ERR {not_modelled(words[0].decode())}")
    return spec.run(store, list(words[1:]))


for _name, _arity in ARITIES.items():
    add(QUEUED_COMMANDS, CommandSpec(_name.lower(), _arity, partial(_at_once, _name)))
