"""Commands about the connection itself, which the port answers: the connections to the zones are not the client's."""

import hmac
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster.resp.protocol import wire

if TYPE_CHECKING:
    from cluster.resp.session import Session

WRONG_PASSWORD = "WRONGPASS invalid username-password pair or user is disabled."
_NO_PASSWORD = (
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your"
    " configuration is correct?"
)
_NAME_WRONG = "ERR Client names cannot contain spaces, newlines or special characters."


def auth(session: "Session", arguments: list[bytes]) -> None:
    if session.server.settings.password is None and len(arguments) == 2:
        session.error(_NO_PASSWORD)
    elif len(arguments) > 3:
        session.error("ERR syntax error")
    elif _log_in(session, arguments[1:]):
        session.reply(wire.OK)


def _log_in(session: "Session", credentials: list[bytes]) -> bool:
    password = session.server.settings.password
    user, given = (b"default", *credentials)[-2:]
    right = password is None or hmac.compare_digest(given, password.encode())
    if user != b"default" or not right:
        session.error(WRONG_PASSWORD)
        return False
    session.admit()
    return True


def hello(session: "Session", arguments: list[bytes]) -> None:
    """``HELLO [2|3 [AUTH user password] [SETNAME name]]``."""
    options = [argument.upper() for argument in arguments]
    protocol, name, at = session.protocol, None, 2
    if len(arguments) > 1:
        if arguments[1] not in (b"2", b"3"):
            session.error("NOPROTO unsupported protocol version")
            return
        protocol = int(arguments[1])
    while at < len(arguments):
        if options[at] == b"AUTH" and at + 2 < len(arguments):
            if not _log_in(session, arguments[at + 1 : at + 3]):
                return
            at += 3
        elif options[at] == b"SETNAME" and at + 1 < len(arguments):
            name = arguments[at + 1]
            at += 2
        else:
            session.error(f"ERR Syntax error in HELLO option '{arguments[at].decode('utf-8', 'replace')}'")
            return
    if not session.authenticated:
        session.error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH"
            " <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the"
            " same time"
        )
        return
    if name is not None and not _is_name(name):
        session.error(_NAME_WRONG)
        return
    session.name = session.name if name is None else name
    session.protocol = protocol
    session.settle()
    session.reply(_introduction(session))


def _introduction(session: "Session") -> bytes:
    server = session.server
    facts = [
        ("server", wire.bulk(server.product.encode())),
        ("version", wire.bulk(server.version.encode())),
        ("proto", wire.integer(session.protocol)),
        ("id", wire.integer(session.identity)),
        ("mode", wire.bulk(b"standalone")),
        ("role", wire.bulk(b"master")),
        ("modules", wire.array(())),
    ]
    return wire.mapping([(wire.bulk(key.encode()), value) for key, value in facts], protocol=session.protocol)


def select(session: "Session", arguments: list[bytes]) -> None:
    if arguments[1] == b"0":
        session.reply(wire.OK)
    else:
        session.error("ERR DB index is out of range: a cluster of zones has database 0 only")


def echo(session: "Session", arguments: list[bytes]) -> None:
    session.reply(wire.bulk(arguments[1]))


def leave(session: "Session", arguments: list[bytes]) -> None:
    session.hang_up(wire.OK)


def reset(session: "Session", arguments: list[bytes]) -> None:
    async def begin_anew() -> bytes:
        session.reset()
        return wire.status("RESET")

    session.exclusively(begin_anew)


def client_id(session: "Session", arguments: list[bytes]) -> None:
    session.reply(wire.integer(session.identity))


def client_getname(session: "Session", arguments: list[bytes]) -> None:
    session.reply(wire.bulk(session.name) if session.name else wire.NIL[session.protocol])


def client_setname(session: "Session", arguments: list[bytes]) -> None:
    if not _is_name(arguments[2]):
        session.error(_NAME_WRONG)
        return
    session.name = arguments[2]
    session.reply(wire.OK)


def client_setinfo(session: "Session", arguments: list[bytes]) -> None:
    attribute, value = arguments[2].lower(), arguments[3]
    if attribute not in (b"lib-name", b"lib-ver"):
        session.error(f"ERR Unrecognized option '{attribute.decode('utf-8', 'replace')}'")
    elif not _is_name(value):
        session.error(f"ERR {attribute.decode()} cannot contain spaces, newlines or special characters.")
    else:
        session.library = {**(session.library or {}), attribute: value}
        session.reply(wire.OK)


def client_info(session: "Session", arguments: list[bytes]) -> None:
    session.reply(wire.bulk(described(session) + b"\n"))


def client_list(session: "Session", arguments: list[bytes]) -> None:
    """All clients of this port; the filters are ``ID`` and ``TYPE normal``, as far as ordinary clients use them."""
    wanted = set(arguments[3:]) if len(arguments) > 3 and arguments[2].upper() == b"ID" else None
    if len(arguments) > 2 and wanted is None and arguments[2].upper() != b"TYPE":
        session.error("ERR syntax error")
        return
    sessions = session.server.sessions
    lines = [described(one) for one in sessions if wanted is None or b"%d" % one.identity in wanted]
    session.reply(wire.bulk(b"".join(line + b"\n" for line in lines)))


def client_kill(session: "Session", arguments: list[bytes]) -> None:
    """``CLIENT KILL ID n`` and ``CLIENT KILL address``."""
    if len(arguments) == 3:
        found = [one for one in session.server.sessions if _address(one, "peername") == arguments[2].decode("latin-1")]
    elif len(arguments) == 4 and arguments[2].upper() == b"ID":
        found = [one for one in session.server.sessions if b"%d" % one.identity == arguments[3]]
    else:
        session.error("ERR syntax error; accepted here: CLIENT KILL addr:port, CLIENT KILL ID number")
        return
    if len(arguments) == 3:
        session.reply(wire.OK if found else wire.error("ERR No such client"))
    else:
        session.reply(wire.integer(len(found)))
    for one in found:
        one.close()


def client_switch(session: "Session", arguments: list[bytes]) -> None:
    """``CLIENT NO-EVICT`` and ``CLIENT NO-TOUCH``: nothing is evicted at the port, so both are true already."""
    session.reply(wire.OK)


def client_help(session: "Session", arguments: list[bytes]) -> None:
    names = sorted(name.partition("|")[2] for name in PORT_COMMANDS if name.startswith("CLIENT|"))
    session.reply(wire.array(wire.status(f"CLIENT {name}") for name in names))


def client_refused(session: "Session", arguments: list[bytes]) -> None:
    name = arguments[1].decode("utf-8", "replace").upper()
    session.error(f"ERR CLIENT {name} is not available through a coordinator: connections to the zones are shared")


def described(session: "Session") -> bytes:
    """One line about a connection, as in ``CLIENT LIST``."""
    now_s = time.monotonic()
    library = session.library or {}
    subscription = session.subscription
    facts = {
        "id": session.identity,
        "addr": _address(session, "peername"),
        "laddr": _address(session, "sockname"),
        "fd": -1,
        "name": session.name.decode("utf-8", "replace"),
        "age": int(now_s - session.born_s),
        "idle": int(now_s - session.last_s),
        "flags": "P" if subscription is not None and subscription.count else "N",
        "db": 0,
        "sub": len(subscription.channels) if subscription is not None else 0,
        "psub": len(subscription.patterns) if subscription is not None else 0,
        "multi": len(session.queued) if session.queued is not None else -1,
        "user": "default",
        "resp": session.protocol,
        "lib-name": library.get(b"lib-name", b"").decode("utf-8", "replace"),
        "lib-ver": library.get(b"lib-ver", b"").decode("utf-8", "replace"),
    }
    return " ".join(f"{key}={value}" for key, value in facts.items()).encode()


def _address(session: "Session", end: str) -> str:
    name = session.transport.get_extra_info(end)
    return f"{name[0]}:{name[1]}" if name else "?:0"


def _is_name(name: bytes) -> bool:
    return all(0x21 <= byte <= 0x7E for byte in name)


def answer(session: "Session", name: str, arguments: list[bytes]) -> None:
    """Answer the command called ``name``, of the treatment ``PORT``."""
    PORT_COMMANDS.get(name, client_refused)(session, arguments)


PORT_COMMANDS: dict[str, Callable[["Session", list[bytes]], None]] = {
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
