"""Commands about the connection itself, which the port answers: the connections to the zones are not the client's."""

import hmac
import re
import time
from collections.abc import Callable
from itertools import takewhile

from cluster.resp.client import Client
from cluster.resp.protocol import wire

WRONG_PASSWORD = "WRONGPASS invalid username-password pair or user is disabled."
_NO_PASSWORD = (
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your"
    " configuration is correct?"
)
_INTEGER = re.compile(rb"0|-?[1-9]\d{0,17}")
_CLIENT_TYPES = frozenset({b"master", b"normal", b"primary", b"pubsub", b"replica", b"slave"})
_NAME_WRONG = "ERR Client names cannot contain spaces, newlines or special characters."


def auth(client: Client, arguments: list[bytes]) -> None:
    if client.host.settings.password is None and len(arguments) == 2:
        client.error(_NO_PASSWORD)
    elif len(arguments) > 3:
        client.error("ERR syntax error")
    elif _log_in(client, arguments[1:]):
        client.reply(wire.OK)


def _log_in(client: Client, credentials: list[bytes]) -> bool:
    password = client.host.settings.password
    user, given = (b"default", *credentials)[-2:]
    right = password is None or hmac.compare_digest(given, password.encode())
    if user != b"default" or not right:
        client.error(WRONG_PASSWORD)
        return False
    client.admit()
    return True


def hello(client: Client, arguments: list[bytes]) -> None:
    """``HELLO [2|3 [AUTH user password] [SETNAME name]]``."""
    options = [argument.upper() for argument in arguments]
    protocol, name, at = client.protocol, None, 2
    if len(arguments) > 1:
        if arguments[1] not in (b"2", b"3"):
            client.error("NOPROTO unsupported protocol version")
            return
        protocol = int(arguments[1])
    while at < len(arguments):
        if options[at] == b"AUTH" and at + 2 < len(arguments):
            if not _log_in(client, arguments[at + 1 : at + 3]):
                return
            at += 3
        elif options[at] == b"SETNAME" and at + 1 < len(arguments):
            name = arguments[at + 1]
            at += 2
        else:
            client.error(f"ERR Syntax error in HELLO option '{arguments[at].decode('utf-8', 'replace')}'")
            return
    if not client.authenticated:
        client.error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH"
            " <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the"
            " same time"
        )
        return
    if name is not None and not _is_name(name):
        client.error(_NAME_WRONG)
        return
    client.name = client.name if name is None else name
    changed, client.protocol = client.protocol != protocol, protocol
    client.settle()
    told, subscription = _introduction(client), client.subscription
    if subscription is None or not changed:
        client.reply(told)
        return

    async def introduce() -> bytes:
        await subscription.speak(protocol, told=told)
        return b""

    client.exclusively(introduce)


def _introduction(client: Client) -> bytes:
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


def select(client: Client, arguments: list[bytes]) -> None:
    if arguments[1] == b"0":
        client.reply(wire.OK)
    else:
        client.error("ERR DB index is out of range: a cluster of zones has database 0 only")


def echo(client: Client, arguments: list[bytes]) -> None:
    client.reply(wire.bulk(arguments[1]))


def leave(client: Client, arguments: list[bytes]) -> None:
    client.hang_up(wire.OK)


def reset(client: Client, arguments: list[bytes]) -> None:
    async def begin_anew() -> bytes:
        client.reset()
        return wire.status("RESET")

    client.exclusively(begin_anew)


def client_id(client: Client, arguments: list[bytes]) -> None:
    client.reply(wire.integer(client.identity))


def client_getname(client: Client, arguments: list[bytes]) -> None:
    client.reply(wire.bulk(client.name) if client.name else wire.NIL[client.protocol])


def client_setname(client: Client, arguments: list[bytes]) -> None:
    if not _is_name(arguments[2]):
        client.error(_NAME_WRONG)
        return
    client.name = arguments[2]
    client.reply(wire.OK)


def client_setinfo(client: Client, arguments: list[bytes]) -> None:
    attribute, value = arguments[2].lower(), arguments[3]
    if attribute not in (b"lib-name", b"lib-ver"):
        client.error(f"ERR Unrecognized option '{attribute.decode('utf-8', 'replace')}'")
    elif not _is_name(value):
        client.error(f"ERR {attribute.decode()} cannot contain spaces, newlines or special characters.")
    else:
        client.library = {**(client.library or {}), attribute: value}
        client.reply(wire.OK)


def client_info(client: Client, arguments: list[bytes]) -> None:
    client.reply(wire.bulk(described(client) + b"\n"))


def client_list(client: Client, arguments: list[bytes]) -> None:
    """All clients of this port, or those that the filters ``ID`` and ``TYPE`` leave."""
    found, at = client.host.clients, 2
    while at < len(arguments):
        option, words = arguments[at].upper(), arguments[at + 1 :]
        if option == b"TYPE" and words:
            wanted = words[0].lower()
            if wanted not in _CLIENT_TYPES:
                client.error(f"ERR Unknown client type '{words[0].decode('ascii', 'surrogateescape')}'")
                return
            found = [one for one in found if _type(one) == wanted]
            at += 2
        elif option == b"ID" and words and _INTEGER.fullmatch(words[0]):
            numbers = [int(word) for word in takewhile(_INTEGER.fullmatch, words)]
            if min(numbers) < 1:
                client.error("ERR client-id should be greater than 0")
                return
            found = [one for one in found if one.identity in numbers]
            at += 1 + len(numbers)
        else:
            client.error("ERR syntax error")
            return
    client.reply(wire.bulk(b"".join(described(one) + b"\n" for one in found)))


def _type(client: Client) -> bytes:
    return b"pubsub" if client.subscription is not None and client.subscription.count else b"normal"


def client_kill(client: Client, arguments: list[bytes]) -> None:
    """``CLIENT KILL ID n`` and ``CLIENT KILL address``."""
    if len(arguments) == 3:
        found = [one for one in client.host.clients if _address(one, "peername") == arguments[2].decode("latin-1")]
    elif len(arguments) == 4 and arguments[2].upper() == b"ID":
        found = [one for one in client.host.clients if b"%d" % one.identity == arguments[3]]
    else:
        client.error("ERR syntax error; accepted here: CLIENT KILL addr:port, CLIENT KILL ID number")
        return
    if len(arguments) == 3:
        client.reply(wire.OK if found else wire.error("ERR No such client"))
    else:
        client.reply(wire.integer(len(found)))
    for one in found:
        one.close()


def client_switch(client: Client, arguments: list[bytes]) -> None:
    """``CLIENT NO-EVICT`` and ``CLIENT NO-TOUCH``: nothing is evicted at the port, so both are true already."""
    client.reply(wire.OK)


def client_help(client: Client, arguments: list[bytes]) -> None:
    names = sorted(name.partition("|")[2] for name in PORT_COMMANDS if name.startswith("CLIENT|"))
    client.reply(wire.array(wire.status(f"CLIENT {name}") for name in names))


def client_refused(client: Client, arguments: list[bytes]) -> None:
    name = arguments[1].decode("utf-8", "replace").upper()
    client.error(f"ERR CLIENT {name} is not available through a coordinator: connections to the zones are shared")


def described(client: Client) -> bytes:
    """One line about a connection, as in ``CLIENT LIST``."""
    now_s = time.monotonic()
    library = client.library or {}
    subscription = client.subscription
    facts = {
        "id": client.identity,
        "addr": _address(client, "peername"),
        "laddr": _address(client, "sockname"),
        "fd": -1,
        "name": client.name.decode("utf-8", "replace"),
        "age": int(now_s - client.born_s),
        "idle": int(now_s - client.last_s),
        "flags": "P" if subscription is not None and subscription.count else "N",
        "db": 0,
        "sub": len(subscription.channels) if subscription is not None else 0,
        "psub": len(subscription.patterns) if subscription is not None else 0,
        "multi": len(client.queued) if client.queued is not None else -1,
        "user": "default",
        "resp": client.protocol,
        "lib-name": library.get(b"lib-name", b"").decode("utf-8", "replace"),
        "lib-ver": library.get(b"lib-ver", b"").decode("utf-8", "replace"),
    }
    return " ".join(f"{key}={value}" for key, value in facts.items()).encode()


def _address(client: Client, end: str) -> str:
    name = client.transport.get_extra_info(end)
    return f"{name[0]}:{name[1]}" if name else "?:0"


def _is_name(name: bytes) -> bool:
    return all(0x21 <= byte <= 0x7E for byte in name)


def answer(client: Client, name: str, arguments: list[bytes]) -> None:
    """Answer the command called ``name``, of the treatment ``PORT``."""
    PORT_COMMANDS.get(name, client_refused)(client, arguments)


PORT_COMMANDS: dict[str, Callable[[Client, list[bytes]], None]] = {
    "AUTH": auth,
    "CLIENT|CAPA": client_switch,
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
