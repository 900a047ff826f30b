"""Goal: the service takes every option of gmq's conf.ini, and says in one line what it does not accept."""

import pytest

from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.gmq_service.addresses import Listen
from zonelab.scenarios.gmq_service.conf_ini import read_settings
from zonelab.scenarios.gmq_service.settings import Mode, ServiceSettings

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
    assert (settings.mode, settings.web, settings.token) == (Mode.COMPAT, None, "0123456789abcdef")
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
