"""Dispatch of commands that are not simply forwarded to the coordinator."""

from zonelab.cluster.commands.routes import route
from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.commands import connection_commands as port
from zonelab.cluster.resp.commands.blocking import wait_for
from zonelab.cluster.resp.commands.subscribe import nothing_left, pong, subscribe
from zonelab.cluster.resp.commands.transaction import TRANSACTION_COMMANDS, leave, queue
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandDescription, Treatment
from zonelab.cluster.votes.levels import Level, Levels, level_named

NO_AUTH = "NOAUTH Authentication required."
_BEFORE_AUTH = frozenset({"AUTH", "HELLO", "QUIT", "RESET"})
_WHILE_SUBSCRIBED = frozenset({"PING", "QUIT", "RESET"})
_SHOWN_MAX = 128
ARGUMENTS_MAX = 10_000
"""Most arguments of a command that the port takes apart; one that is only forwarded may have more."""

WAITING_BYTES_MAX = 1024 * 1024
"""Most bytes of a command that waits: three BLPOPs of 30 MB took 170 ms of a turn of the loop (24 November 2026)."""

_LOOKED_AT = 64
_TAKEN_APART = frozenset({Treatment.BLOCKING, Treatment.PORT, Treatment.STORING, Treatment.SUBSCRIPTION})
_LEVEL_COMMAND = b"DYNO_CONFIG:CONN_CONSISTENCY"


def dispatch(client: PortClient, spec: CommandDescription | None, raw: bytes) -> None:
    client.last_command = spec
    arguments, count = wire.beginning(raw, _LOOKED_AT)
    if count > _LOOKED_AT and (count <= ARGUMENTS_MAX or client.host.coordinator.door is not None):
        arguments = wire.arguments(raw)
    if not client.authenticated and (spec is None or spec.name not in _BEFORE_AUTH):
        client.error(NO_AUTH)
        return
    sets_level = spec is None and client.queued is None and arguments[0].upper() == _LEVEL_COMMAND
    if sets_level and len(arguments) == 2 and (level := level_named(arguments[1])) is not None:
        client.read_level = client.write_level = level
        client.reply(wire.OK)
        return
    door = client.host.coordinator.door
    if door is not None and not (spec is not None and spec.name == "AUTH" and client.host.settings.password):
        levels = Levels(client.read_level, client.write_level)
        if (refusal := door.refusal(tuple(arguments), levels)) is not None:
            _refuse(client, refusal)
            return
    if spec is None:
        _refuse(client, _unknown_level(arguments) if sets_level else _unknown(arguments))
        return
    if spec.treatment is Treatment.CONTAINER or (spec.name in ("CLIENT", "COMMAND") and len(arguments) > 1):
        found = client.last_command = client.host.table.find_subcommand(spec, arguments)
        if found is None:
            wrong = f"unknown subcommand '{_shown(arguments[1])}'" if len(arguments) > 1 else _wrong_arity(spec)
            _refuse(client, f"ERR {wrong}. Try {spec.name} HELP." if len(arguments) > 1 else wrong)
            return
        spec = found
    if spec.treatment is Treatment.REFUSE:
        _refuse(client, f"ERR {spec.name.replace('|', ' ')} is not available through a coordinator: {spec.reason}")
    elif not spec.accepts(count):
        _refuse(client, _wrong_arity(spec), spec)
    elif count > ARGUMENTS_MAX and spec.treatment in _TAKEN_APART:
        _refuse(client, f"ERR {spec.name} with more than {ARGUMENTS_MAX} arguments is not available here, got {count}")
    elif len(raw) > WAITING_BYTES_MAX and spec.treatment is Treatment.BLOCKING:
        _refuse(client, f"ERR {spec.name} of more than {WAITING_BYTES_MAX} bytes is not available here, got {len(raw)}")
    elif client.queued is not None and "no_multi" in spec.flags:
        _refuse(client, f"ERR Command '{spec.name.lower()}' not allowed inside a transaction")
    elif _is_restricted(client, spec):
        wrong = (
            f"ERR Can't execute '{spec.name.lower()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET"
            " are allowed in this context"
        )
        _refuse(client, wrong, spec)
    else:
        _carry_out(client, spec, arguments, raw)


def _carry_out(client: PortClient, spec: CommandDescription, arguments: list[bytes], raw: bytes) -> None:
    treatment = spec.treatment
    if client.host.scripts is not None:
        client.host.scripts.note(spec.name, arguments)
    if treatment is Treatment.TRANSACTION:
        TRANSACTION_COMMANDS[spec.name](client, raw)
    elif client.queued is not None and spec.name not in ("QUIT", "RESET"):
        queue(client, spec, raw)
    elif treatment is Treatment.PORT:
        port.answer(client, spec.name, arguments)
    elif treatment is Treatment.SUBSCRIPTION and client.subscription is None and "UNSUB" in spec.name:
        client.reply(nothing_left(client, spec.name, arguments[1:]))
    elif treatment is Treatment.SUBSCRIPTION:
        client.exclusively(lambda: subscribe(client, spec.name, raw, arguments[1:]))
    elif spec.name == "PING" and client.subscription is not None and client.subscription.restricts(client.protocol):
        if len(arguments) > 2:
            client.error(_wrong_arity(spec))
        else:
            client.reply(pong(arguments))
    elif treatment is Treatment.BLOCKING:
        wait_for(client, spec, arguments, raw)
    elif treatment is Treatment.INFO:
        client.submit_info(raw)
    elif treatment is Treatment.SORTED and client.read_level.rule.sorted_sets:
        client.submit_set(wire.command(b"SORT", arguments[1], b"ALPHA"))
    elif treatment is Treatment.STORING:
        client.submit(KINDS[route((spec.name, *arguments[1:]))], [raw])
    else:
        client.submit(spec.kind, [raw])


def _is_restricted(client: PortClient, spec: CommandDescription) -> bool:
    subscription = client.subscription
    if subscription is None or not subscription.restricts(client.protocol):
        return False
    return spec.treatment is not Treatment.SUBSCRIPTION and spec.name not in _WHILE_SUBSCRIBED


def _refuse(client: PortClient, text: str, spec: CommandDescription | None = None) -> None:
    if spec is not None and spec.name == "EXEC":
        leave(client)
        client.error(f"EXECABORT Transaction discarded because of: {text.removeprefix('ERR ')}")
        return
    if client.queued is not None:
        client.queue_failed = True
    client.error(text)


def _unknown_level(arguments: list[bytes]) -> str:
    wanted = _shown(arguments[1]).upper() if len(arguments) == 2 else ""
    return f"ERR level {wanted!r} is not accepted; accepted: {', '.join(level.value for level in Level)}"


def _unknown(arguments: list[bytes]) -> str:
    """Valkey's words, the space at the end included (``commandCheckExistence`` in ``server.c`` of 9.1.2)."""
    beginning = ""
    for argument in arguments[1:]:
        if len(beginning) >= _SHOWN_MAX:
            break
        beginning += f"'{_shown(argument, _SHOWN_MAX - len(beginning))}' "
    return f"ERR unknown command '{_shown(arguments[0])}', with args beginning with: {beginning}"


def _wrong_arity(spec: CommandDescription) -> str:
    return f"ERR wrong number of arguments for '{spec.name.lower()}' command"


def _shown(word: bytes, length: int = _SHOWN_MAX) -> str:
    return wire.shown(word, length)
