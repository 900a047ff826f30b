"""What happens to a command that is not simply handed to the coordinator."""

from typing import TYPE_CHECKING

from cluster.resp import port
from cluster.resp.commands.blocking import wait_for
from cluster.resp.commands.command_table import CommandSpec, Treatment
from cluster.resp.protocol import wire
from cluster.resp.subscription import pong, subscribe
from cluster.resp.transaction import TRANSACTION_COMMANDS, queue
from cluster.votes.vote import Level

if TYPE_CHECKING:
    from cluster.resp.session import Session

NO_AUTH = "NOAUTH Authentication required."
_BEFORE_AUTH = frozenset({"AUTH", "HELLO", "QUIT", "RESET"})
_WHILE_SUBSCRIBED = frozenset({"PING", "QUIT", "RESET"})
_LEVEL_COMMAND = b"DYNO_CONFIG:CONN_CONSISTENCY"


def dispatch(session: "Session", spec: CommandSpec | None, raw: bytes) -> None:
    arguments = wire.arguments(raw)
    if not session.authenticated and (spec is None or spec.name not in _BEFORE_AUTH):
        session.error(NO_AUTH)
        return
    if spec is None:
        if arguments[0].upper() == _LEVEL_COMMAND and session.queued is None:
            _set_level(session, arguments)
        else:
            _refuse(session, _unknown(arguments))
        return
    if spec.treatment is Treatment.CONTAINER or (spec.name == "CLIENT" and len(arguments) > 1):
        found = session.server.table.find_subcommand(spec, arguments)
        if found is None:
            wrong = f"unknown subcommand '{_shown(arguments[1])}'" if len(arguments) > 1 else _wrong_arity(spec)
            _refuse(session, f"ERR {wrong}. Try {spec.name} HELP." if len(arguments) > 1 else wrong)
            return
        spec = found
    if spec.treatment is Treatment.REFUSE:
        _refuse(session, f"ERR {spec.name.replace('|', ' ')} is not available through a coordinator: {spec.reason}")
    elif not spec.accepts(len(arguments)):
        _refuse(session, _wrong_arity(spec))
    elif _is_restricted(session, spec):
        session.error(
            f"ERR Can't execute '{spec.name.lower()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET"
            " are allowed in this context"
        )
    else:
        _carry_out(session, spec, arguments, raw)


def _carry_out(session: "Session", spec: CommandSpec, arguments: list[bytes], raw: bytes) -> None:
    treatment = spec.treatment
    if treatment is Treatment.TRANSACTION:
        TRANSACTION_COMMANDS[spec.name](session, raw)
    elif session.queued is not None and spec.name not in ("QUIT", "RESET"):
        queue(session, spec, raw)
    elif treatment is Treatment.PORT:
        port.answer(session, spec.name, arguments)
    elif treatment is Treatment.SUBSCRIPTION:
        session.exclusively(lambda: subscribe(session, spec.name, raw, arguments[1:]))
    elif spec.name == "PING" and session.subscription is not None and session.subscription.restricts(session.protocol):
        session.reply(pong(arguments))
    elif treatment is Treatment.BLOCKING:
        wait_for(session, spec, arguments, raw)
    elif treatment is Treatment.SORTED and session.read_level is Level.DC_SAFE_QUORUM:
        session.submit_set(wire.command(b"SORT", arguments[1], b"ALPHA"))
    else:
        session.submit(spec.kind, [raw])


def _is_restricted(session: "Session", spec: CommandSpec) -> bool:
    subscription = session.subscription
    if subscription is None or not subscription.restricts(session.protocol):
        return False
    return spec.treatment is not Treatment.SUBSCRIPTION and spec.name not in _WHILE_SUBSCRIBED


def _refuse(session: "Session", text: str) -> None:
    if session.queued is not None:
        session.queue_failed = True
    session.error(text)


def _set_level(session: "Session", arguments: list[bytes]) -> None:
    """Dynomite's own command (``dyn_message.c``): a prefix match in any case, for reads and writes alike."""
    wanted = _shown(arguments[1]).upper() if len(arguments) == 2 else ""
    fitting = [level for level in Level if wanted.startswith(level.value)]
    if not fitting:
        accepted = ", ".join(level.value for level in Level)
        session.error(f"ERR level {wanted!r} is not accepted; accepted: {accepted}")
        return
    session.read_level = session.write_level = max(fitting, key=len)
    session.reply(wire.OK)


def _unknown(arguments: list[bytes]) -> str:
    beginning = " ".join(f"'{_shown(argument)}'" for argument in arguments[1:8])
    return f"ERR unknown command '{_shown(arguments[0])}', with args beginning with: {beginning}"


def _wrong_arity(spec: CommandSpec) -> str:
    return f"ERR wrong number of arguments for '{spec.name.lower()}' command"


def _shown(word: bytes) -> str:
    return word[:128].decode("utf-8", "replace")
