"""The file of settings: gmq's conf.ini with every option of it, and a section ``[service]`` of ours."""

from collections.abc import Callable, Mapping
from configparser import ConfigParser, DuplicateOptionError, DuplicateSectionError
from configparser import Error as NotIni
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zonelab.app.gmq_service.addresses import FORMS, parse_listen
from zonelab.app.gmq_service.settings import ServiceMode, ServiceSettings
from zonelab.cluster.regular_file import read_regular
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US_MAX
from zonelab.engine.gmq.settings import TTR_BUCKETS_MAX
from zonelab.scenarios.errors import NotAccepted

CONFIG_DEFAULT = Path("gmq.ini")
TOKEN_VARIABLE = "ZONELAB_GMQ_TOKEN"
"""Environment variable with a token for files without one."""

BYTES_MAX = 1 << 20
"""The largest file that is read."""

TOKEN_LETTERS_MIN = 16
LOG_TARGETS = ("file", "console")


@dataclass(frozen=True, slots=True)
class IniOption:
    """``parse`` raises ``ValueError`` or ``KeyError`` for what is not accepted. ``secret``: errors do not show it."""

    field: str
    parse: Callable[[str], Any]
    accepted: str
    secret: bool = False


def _number(field: str, least: int, most: int) -> IniOption:
    def parse(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError
        return number

    return IniOption(field, parse, f"{least} to {most}")


def _text(field: str) -> IniOption:
    def parse(text: str) -> str:
        if not text:
            raise ValueError
        return text

    return IniOption(field, parse, "a text")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _targets(text: str) -> tuple[str, ...]:
    targets = _words(text)
    if not targets or not set(targets) <= set(LOG_TARGETS):
        raise ValueError
    return targets


def _token(text: str) -> str:
    if len(text) < TOKEN_LETTERS_MIN:
        raise ValueError
    return text


_TOKEN = IniOption("token", _token, f"{TOKEN_LETTERS_MIN} letters or more", secret=True)

OPTIONS: Mapping[str, Mapping[str, IniOption]] = {
    "redis": {
        "host": _text("redis_host"),
        "port": _number("redis_port", 1, 65_535),
        "max_idle": _number("max_idle", 1, 100),
        "max_active": _number("max_active", 1, 100_000),
        "password": IniOption("redis_password", str, "a text", secret=True),
        "db": _number("redis_db", 0, 65_535),
        "command_ms": _number("command_ms", 10, 600_000),
        "connect_s": _number("connect_s", 1, 3_600),
    },
    "server": {"type": IniOption("server_type", {"rpc": "rpc"}.__getitem__, "rpc")},
    "log": {
        "target_type": IniOption("log_targets", _targets, f"{' or '.join(LOG_TARGETS)}, or both with a comma"),
        "filename": _text("log_file"),
        "level": _number("log_level", 0, 5),
        "max_size": _number("log_bytes_max", 1_000, 2**40),
        "rotate": IniOption("log_rotate", {"true": True, "false": False}.__getitem__, "true or false"),
    },
    "bucket": {"num": _number("buckets", 1, 1_000)},
    "TTRBucket": {"num": _number("ttr_buckets", 1, TTR_BUCKETS_MAX)},
    "service": {
        "mode": IniOption("mode", ServiceMode, ", ".join(ServiceMode)),
        "rpc": IniOption("rpc", parse_listen, FORMS),
        "api": IniOption("api", parse_listen, FORMS),
        "web": IniOption("web", parse_listen, FORMS),
        "token": _TOKEN,
        "hosts": IniOption("hosts", _words, "names with commas"),
        "pid_file": _text("pid_file"),
        "clients_max": _number("clients_max", 1, 100_000),
        "request_bytes_max": _number("request_bytes_max", 1_024, 2**30),
        "held_bytes_max": _number("held_bytes_max", 1_024, 2**34),
        "topics": IniOption("topics", _words, "names with commas"),
        "topics_max": _number("topics_max", 1, 100_000),
        "busy_poll_us": _number("busy_poll_us", 0, BUSY_POLL_US_MAX),
        "pop_ms": _number("pop_ms", 0, 178_000),
        "stop_s": _number("stop_s", 1, 3_600),
    },
}


def read_settings(path: Path | None, *, compat: bool = False, token: str | None = None) -> ServiceSettings:
    """Read the settings of the file ``path``, or the defaults if it is None. ``token`` is for a file without one.

    Raises ``NotAccepted``, in one line, for an option that is unknown or has a value that is not accepted.
    """
    settings = ServiceSettings(**({} if path is None else _values(path)))
    if compat:
        settings = replace(settings, mode=ServiceMode.COMPAT)
    if token is not None and settings.token is None:
        settings = replace(settings, token=_parsed(_TOKEN, token, TOKEN_VARIABLE))
    rpc = settings.rpc
    if settings.token is not None and rpc is not None and not rpc.is_local:
        raise NotAccepted(
            f"[service] rpc: got {str(rpc)!r} with a token, for which JSON-RPC has no place; "
            "accepted: a loopback address, unix:PATH or off"
        )
    for name, listen in (("api", settings.api), ("web", settings.web)):
        if listen is not None and listen.path is not None:
            raise NotAccepted(f"[service] {name}: got {str(listen)!r}; accepted: HOST:PORT or off")
    return settings


def _values(path: Path) -> dict[str, Any]:
    values = {}
    for section, given in _read(path).items():
        if section not in OPTIONS:
            sections = ", ".join(f"[{known}]" for known in OPTIONS)
            raise NotAccepted(f"{path}: got section [{section}]; accepted: {sections}")
        for name, text in given.items():
            option = OPTIONS[section].get(name)
            if option is None:
                raise NotAccepted(f"{path}: [{section}] got option {name!r}; accepted: {', '.join(OPTIONS[section])}")
            values[option.field] = _parsed(option, text, f"{path}: [{section}] {name}")
    return values


def _read(path: Path) -> Mapping[str, Mapping[str, str]]:
    parser = ConfigParser(interpolation=None, default_section="", inline_comment_prefixes=("#", ";"))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(read_regular(path, bytes_max=BYTES_MAX).decode("utf-8-sig"))
    except OSError as error:
        raise NotAccepted(f"{path}: got {error.strerror}; accepted: an ini file") from error
    except UnicodeDecodeError as error:
        raise NotAccepted(f"{path}: got no UTF-8 at byte {error.start}; accepted: an ini file") from error
    except ValueError as error:
        raise NotAccepted(f"{path}: {error}") from error
    except NotIni as error:
        raise NotAccepted(f"{path}: {_no_ini(error)}; accepted: [section] and name=value") from error
    return {section: dict(parser[section]) for section in parser.sections()}


def _no_ini(error: NotIni) -> str:
    """Say what is wrong without the text of any line: a file that was named by mistake may hold anything."""
    if isinstance(error, DuplicateOptionError):
        return f"line {error.lineno}: got [{error.section}] {error.option} twice"
    if isinstance(error, DuplicateSectionError):
        return f"line {error.lineno}: got [{error.section}] twice"
    line = getattr(error, "lineno", None) or next((number for number, _ in getattr(error, "errors", ())), 1)
    return f"line {line}: got what is no ini file"


def _parsed(option: IniOption, text: str, where: str) -> Any:
    try:
        return option.parse(text.strip())
    except (ValueError, KeyError):
        got = f"{len(text.strip())} letters" if option.secret else repr(text)
        raise NotAccepted(f"{where}: got {got}; accepted: {option.accepted}") from None
