"""Goal: the service takes every option of gmq's conf.ini, and says in one line what it does not accept."""

import re
from collections.abc import Iterator
from itertools import takewhile

import pytest
from support.project_files import ROOT

from zonelab.app.gmq_service.addresses import Listen
from zonelab.app.gmq_service.conf_ini import OPTIONS, read_settings
from zonelab.app.gmq_service.settings import ServiceMode, ServiceSettings
from zonelab.scenarios.errors import NotAccepted

ORIGINAL = """
[redis]
max_idle=4
max_active=200
port=6380
host=redis.local
[server]
type=rpc
[log]
target_type=file,console
filename=jobs.log
level=1
max_size=1000000
rotate=false
[bucket]
num=5
[TTRBucket]
num=2
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "gmq.ini"


def test_every_option_of_the_original_is_taken(file):
    file.write_text(ORIGINAL)
    assert read_settings(file) == ServiceSettings(
        max_idle=4,
        max_active=200,
        redis_port=6380,
        redis_host="redis.local",
        log_targets=("file", "console"),
        log_file="jobs.log",
        log_level=1,
        log_bytes_max=1_000_000,
        log_rotate=False,
        buckets=5,
        ttr_buckets=2,
    )


def test_what_follows_a_value_may_be_a_comment(file):
    file.write_text("# all\n[redis]\nmax_idle = 3 # idle\nmax_active=7 ; active\npassword=a#b;c\n")
    settings = read_settings(file)
    assert (settings.max_idle, settings.max_active, settings.redis_password) == (3, 7, "a#b;c")


def test_no_line_of_another_file_is_shown(file):
    file.write_text("root:x:0:0\n[redis]\n")
    with pytest.raises(NotAccepted, match="line 1: got what is no ini file") as error:
        read_settings(file)
    assert "root" not in str(error.value).replace(str(file), "")


def test_ours_stand_beside_them(file):
    file.write_text("[service]\nmode=hardened\nrpc=unix:/run/gmq.sock\nweb=off\ntoken=0123456789abcdef\n")
    settings = read_settings(file, compat=True, token="another-token-that-is-not-asked")
    assert (settings.mode, settings.web, settings.token) == (ServiceMode.COMPAT, None, "0123456789abcdef")
    assert settings.rpc is not None
    assert str(settings.rpc) == "unix:/run/gmq.sock"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[redis]\nprot=1", "[redis] got option 'prot'; accepted: host, port, max_idle, max_active, password, db"),
        ("[reddis]\nport=1", "got section [reddis]; accepted: [redis], [server], [log], [bucket], [TTRBucket]"),
        ("[bucket]\nnum=0", "[bucket] num: got '0'; accepted: 1 to 1000"),
        ("[TTRBucket]\nnum=-3", "[TTRBucket] num: got '-3'; accepted: 1 to 26"),
        ("[redis]\nport=x", "[redis] port: got 'x'; accepted: 1 to 65535"),
        ("[log]\ntarget_type=mail", "[log] target_type: got 'mail'; accepted: file or console"),
        ("[server]\ntype=http", "[server] type: got 'http'; accepted: rpc"),
        ("[service]\nrpc=9503", "[service] rpc: got '9503'; accepted: HOST:PORT, unix:PATH or off"),
        ("[service]\nweb=unix:x", "[service] web: got 'unix:"),
        ("[service]\ntoken=short", "[service] token: got 5 letters; accepted: 16 letters or more"),
        ("[service]\ntoken=0123456789abcdef\nrpc=0.0.0.0:1", "[service] rpc: got '0.0.0.0:1' with a token"),
        ("no ini", "line 1: got what is no ini file"),
        ("[redis]\nport=1\nno option", "line 3: got what is no ini file"),
        ("[redis]\nport=1\nport=2", "line 3: got [redis] port twice"),
        ("[redis]\n[redis]", "line 2: got [redis] twice"),
    ],
)
def test_what_is_not_accepted_is_told_in_one_line(file, text, told):
    file.write_text(text)
    with pytest.raises(NotAccepted) as error:
        read_settings(file)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_not_accepted(file):
    with pytest.raises(NotAccepted, match=r"gmq\.ini: got No such file"):
        read_settings(file)


def test_without_a_file_it_listens_on_the_loopback_alone():
    settings = read_settings(None)
    assert settings.rpc == Listen(host="127.0.0.1", port=9503)
    assert [one.is_local for one in (settings.rpc, settings.api, settings.web) if one] == [True, True, True]


def described() -> Iterator[tuple[str, str, str]]:
    """Section, option and default of every row of the table of options in docs/gmq-service.md."""
    page = (ROOT / "docs/gmq-service.md").read_text(encoding="utf-8").partition("| option | default | |\n")[2]
    section = ""
    for row in takewhile(lambda line: line.startswith("|"), page.splitlines()[1:]):
        names, defaults = (cell.strip() for cell in row.split("|")[1:3])
        options = re.findall(r"`(?:\[(\w+)\] )?(\w+)`", names)
        several = defaults.split(", ") if len(options) > 1 else [defaults]
        for (begins, name), default in zip(options, several * (len(options) // len(several)), strict=True):
            section = begins or section
            yield section, name, default


def test_every_option_is_described_with_its_default(file):
    told = list(described())
    assert sorted((section, name) for section, name, _ in told) == sorted(
        (section, name) for section, options in OPTIONS.items() for name in options
    )
    for section, name, default in told:
        if default != "none":
            file.write_text(f"[{section}]\n{name}={default}\n")
            assert read_settings(file) == ServiceSettings(), f"[{section}] {name}={default}"
    plain = ServiceSettings()
    assert (plain.redis_password, plain.token, plain.hosts, plain.topics) == ("", None, (), ())


BORDERS = {
    **{
        "redis.port": (1, 65_535),
        "redis.max_idle": (1, 100),
        "redis.max_active": (1, 100_000),
        "redis.db": (0, 65_535),
    },
    **{"redis.command_ms": (10, 600_000), "redis.connect_s": (1, 3_600), "log.level": (0, 5)},
    **{"log.max_size": (1_000, 1 << 40), "bucket.num": (1, 1_000), "TTRBucket.num": (1, 26)},
    **{"service.clients_max": (1, 100_000), "service.request_bytes_max": (1 << 10, 1 << 30)},
    **{"service.held_bytes_max": (1 << 10, 1 << 34), "service.topics_max": (1, 100_000)},
    **{"service.busy_poll_us": (0, 1_000_000), "service.pop_ms": (0, 178_000), "service.stop_s": (1, 3_600)},
}


@pytest.mark.parametrize("name", BORDERS)
def test_a_number_is_accepted_up_to_its_borders(file, name):
    section, _, option = name.partition(".")
    for number in BORDERS[name]:
        file.write_text(f"[{section}]\n{option}={number}\n")
        assert getattr(read_settings(file), OPTIONS[section][option].field) == number
    least, most = BORDERS[name]
    for number in (least - 1, most + 1):
        file.write_text(f"[{section}]\n{option}={number}\n")
        with pytest.raises(NotAccepted) as error:
            read_settings(file)
        assert str(error.value) == f"{file}: [{section}] {option}: got '{number}'; accepted: {least} to {most}"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("[log]\ntarget_type=console", "log_targets", ("console",)),
        ("[log]\nrotate=true", "log_rotate", True),
        ("[service]\nhosts=a, b", "hosts", ("a", "b")),
        ("[service]\ntopics=x,y", "topics", ("x", "y")),
        ("[service]\npid_file=p", "pid_file", "p"),
        ("[service]\ntoken=0123456789abcdef", "token", "0123456789abcdef"),
    ],
)
def test_texts_and_lists_are_read_as_they_stand(file, line, field, value):
    file.write_text(line + "\n")
    assert getattr(read_settings(file), field) == value


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[service]\ntoken=0123456789abcde", "token: got 15 letters; accepted: 16 letters or more"),
        ("[log]\ntarget_type=", "target_type: got ''; accepted: file or console, or both with a comma"),
        ("[log]\ntarget_type=file,paper", "target_type: got 'file,paper'; accepted: file or console, or both"),
        ("[log]\nfilename=", "filename: got ''; accepted: a text"),
        ("[log]\nrotate=yes", "rotate: got 'yes'; accepted: true or false"),
        ("[server]\ntype=http", "type: got 'http'; accepted: rpc"),
        ("[service]\nmode=soft", "mode: got 'soft'; accepted: default, compat, hardened"),
    ],
)
def test_texts_and_lists_that_are_not_accepted_are_told(file, line, told):
    file.write_text(line + "\n")
    with pytest.raises(NotAccepted) as error:
        read_settings(file)
    assert told in str(error.value)
