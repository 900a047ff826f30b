"""Commands about the connection itself, which the port answers: the connections to the zones are not the client's."""

import hmac
from collections.abc import Callable

from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.commands.client_list import client_kill, client_list, described, integer_of
from zonelab.cluster.resp.protocol import wire

WRONG_PASSWORD = "WRONGPASS invalid username-password pair or user is disabled."
_NO_PASSWORD = (
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your"
    " configuration is correct?"
)
_NO_VERSION = "ERR Protocol version is not an integer or out of range"
NAME_BYTES_MAX = 1024
"""Longest name or library text of a client: every ``CLIENT LIST`` repeats it."""


def auth(client: PortClient, arguments: list[bytes]) -> None:
    if client.host.settings.password is None and len(arguments) == 2:
        client.error(_NO_PASSWORD)
    elif len(arguments) > 3:
        client.error("ERR syntax error")
    elif _log_in(client, arguments[1:]):
        client.reply(wire.OK)


def _log_in(client: PortClient, credentials: list[bytes]) -> bool:
    password = client.host.settings.password
    user, given = (b"default", *credentials)[-2:]
    right = password is None or hmac.compare_digest(given, password.encode())
    if user != b"default" or not right:
        client.error(WRONG_PASSWORD)
        return False
    client.admit()
    return True


def hello(client: PortClient, arguments: list[bytes]) -> None:
    """``HELLO [2|3 [AUTH user password] [SETNAME name]]``."""
    options = [argument.upper() for argument in arguments]
    protocol, credentials, name, at = client.protocol, None, None, 2
    if len(arguments) > 1:
        if arguments[1] not in (b"2", b"3"):
            is_number = integer_of(arguments[1]) is not None
            client.error("NOPROTO unsupported protocol version" if is_number else _NO_VERSION)
            return
        protocol = int(arguments[1])
    while at < len(arguments):
        if options[at] == b"AUTH" and at + 2 < len(arguments):
            credentials = arguments[at + 1 : at + 3]
            at += 3
        elif options[at] == b"SETNAME" and at + 1 < len(arguments):
            name = arguments[at + 1]
            at += 2
        else:
            client.error(f"ERR Syntax error in HELLO option '{wire.shown(arguments[at])}'")
            return
    if credentials is not None and not _log_in(client, credentials):
        return
    if not client.authenticated:
        client.error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH"
            " <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the"
            " same time"
        )
        return
    if name is not None and (wrong := _wrong_name("Client names", name)) is not None:
        client.error(wrong)
        return
    client.name = client.name if name is None else name
    changed, client.protocol = client.protocol != protocol, protocol
    client.settle()
    introduction, subscription = _introduction(client), client.subscription
    if subscription is None or not changed:
        client.reply(introduction)
        return

    async def introduce() -> bytes:
        await subscription.speak(protocol, told=introduction)
        return b""

    client.exclusively(introduce, soon=True)


def _introduction(client: PortClient) -> bytes:
    host = client.host
    facts = [
        ("server", wire.bulk(host.product.encode())),
        ("version", wire.bulk(host.version.encode())),
        ("proto", wire.integer(client.protocol)),
        ("id", wire.integer(client.identity)),
        ("mode", wire.bulk(b"standalone")),
        ("role", wire.bulk(b"master")),
        ("modules", wire.array(())),
    ]
    return wire.mapping([(wire.bulk(key.encode()), value) for key, value in facts], protocol=client.protocol)


def select(client: PortClient, arguments: list[bytes]) -> None:
    if arguments[1] == b"0":
        client.reply(wire.OK)
    else:
        client.error("ERR DB index is out of range: a cluster of zones has database 0 only")


def echo(client: PortClient, arguments: list[bytes]) -> None:
    client.reply(wire.bulk(arguments[1]))


def leave(client: PortClient, arguments: list[bytes]) -> None:
    client.hang_up(wire.OK)


def reset(client: PortClient, arguments: list[bytes]) -> None:
    async def begin_anew() -> bytes:
        client.reset()
        return wire.status("RESET")

    client.exclusively(begin_anew, soon=True)


def client_id(client: PortClient, arguments: list[bytes]) -> None:
    client.reply(wire.integer(client.identity))


def client_getname(client: PortClient, arguments: list[bytes]) -> None:
    client.reply(wire.bulk(client.name) if client.name else wire.NIL[client.protocol])


def client_setname(client: PortClient, arguments: list[bytes]) -> None:
    if (wrong := _wrong_name("Client names", arguments[2])) is not None:
        client.error(wrong)
        return
    client.name = arguments[2]
    client.reply(wire.OK)


def client_setinfo(client: PortClient, arguments: list[bytes]) -> None:
    attribute, value = arguments[2].lower(), arguments[3]
    if attribute not in (b"lib-name", b"lib-ver"):
        client.error(f"ERR Unrecognized option '{wire.shown(arguments[2])}'")
    elif (wrong := _wrong_name(attribute.decode(), value)) is not None:
        client.error(wrong)
    else:
        client.library = {**(client.library or {}), attribute: value}
        client.reply(wire.OK)


def client_info(client: PortClient, arguments: list[bytes]) -> None:
    client.reply(wire.verbatim(described(client) + b"\n", protocol=client.protocol))


def client_switch(client: PortClient, arguments: list[bytes]) -> None:
    """``CLIENT NO-EVICT`` and ``CLIENT NO-TOUCH``: nothing is evicted at the port, so both are true already."""
    if arguments[2].upper() in (b"ON", b"OFF"):
        client.reply(wire.OK)
    else:
        client.error("ERR syntax error")


def client_capa(client: PortClient, arguments: list[bytes]) -> None:
    """Accept a client's capabilities, of which the port makes no use."""
    client.reply(wire.OK)


def client_help(client: PortClient, arguments: list[bytes]) -> None:
    names = sorted(name.partition("|")[2] for name in PORT_COMMANDS if name.startswith("CLIENT|"))
    client.reply(wire.array(wire.status(f"CLIENT {name}") for name in names))


def client_refused(client: PortClient, arguments: list[bytes]) -> None:
    name = arguments[1].decode("utf-8", "replace").upper()
    client.error(f"ERR CLIENT {name} is not available through a coordinator: connections to the zones are shared")


def _wrong_name(what: str, name: bytes) -> str | None:
    if not all(0x21 <= byte <= 0x7E for byte in name[:NAME_BYTES_MAX]):
        return f"ERR {what} cannot contain spaces, newlines or special characters."
    if len(name) > NAME_BYTES_MAX:
        return f"ERR {what} of more than {NAME_BYTES_MAX} bytes are not available here, got {len(name)}"
    return None


def answer(client: PortClient, name: str, arguments: list[bytes]) -> None:
    """Answer the command called ``name``, of the treatment ``PORT``."""
    PORT_COMMANDS.get(name, client_refused)(client, arguments)


PORT_COMMANDS: dict[str, Callable[[PortClient, list[bytes]], None]] = {
    "AUTH": auth,
    "CLIENT|CAPA": client_capa,
    "CLIENT|GETNAME": client_getname,
    "CLIENT|HELP": client_help,
    "CLIENT|ID": client_id,
    "CLIENT|INFO": client_info,
    "CLIENT|KILL": client_kill,
    "CLIENT|LIST": client_list,
    "CLIENT|NO-EVICT": client_switch,
    "CLIENT|NO-TOUCH": client_switch,
    "CLIENT|SETINFO": client_setinfo,
    "CLIENT|SETNAME": client_setname,
    "ECHO": echo,
    "HELLO": hello,
    "QUIT": leave,
    "RESET": reset,
    "SELECT": select,
}
