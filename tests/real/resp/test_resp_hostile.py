"""Goal: no client can take the gateway down or its memory up. Method: hostile clients on sockets, resident memory."""

import contextlib
import os
import random
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
import redis
from support.programs import until

from zonelab.cluster.resp.gateway.program import allow_files
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level

pytestmark = pytest.mark.real

DEADLINE_S = 60
SLACK_KB = 24_000
"""What an allocator may keep; an attack that works costs far more."""


@contextlib.contextmanager
def connected(gateway, count=1):
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection((gateway.host, gateway.port), timeout=DEADLINE_S))
            sockets.append(one)
        yield sockets


def everything(one):
    """All that comes until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while data := one.recv(65536):
            parts.append(data)
    return b"".join(parts)


def assert_well(gateway):
    with gateway.client() as client:
        assert client.set("well", "yes")
        assert client.get("well") == b"yes"


@pytest.mark.parametrize(
    "data",
    [
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1073741824\r\n" + b"x" * 100_000,
        b"*1000000000\r\n$3\r\nSET\r\n",
        b"*2\r\n*1000000\r\n" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(200) + b"\x00" * 70_000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"*2\r\n$3\r\nGET\r\n+k\r\n",
    ],
    ids=["1 GB header", "a billion arguments", "nested arrays", "TLS hello", "HTTP", "simple string"],
)
def test_what_is_no_command_costs_its_sender_the_connection_and_nobody_else_anything(quorum, data):
    before = quorum.resident_kb
    for _ in range(20):
        with connected(quorum) as [one]:
            with contextlib.suppress(ConnectionError):
                one.sendall(data)
            assert b"-ERR" in everything(one) or data.startswith((b"\x16", b"*2\r\n*"))
    assert quorum.resident_kb - before < SLACK_KB
    assert_well(quorum)


def test_random_bytes_do_no_harm(quorum):
    draw = random.Random(7)
    before = quorum.resident_kb
    for _ in range(200):
        with connected(quorum) as [one], contextlib.suppress(ConnectionError):
            one.sendall(
                draw.choice([b"", b"*", b"*3\r\n$3\r\nSET\r\n"]) + draw.randbytes(draw.randrange(1, 2000)) + b"\r\n"
            )
            one.shutdown(socket.SHUT_WR)
            everything(one)
    assert quorum.resident_kb - before < SLACK_KB
    assert_well(quorum)


def test_half_commands_of_many_clients_are_held_within_one_bound(cluster):
    half = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8000000\r\n" + bytes(4_000_000)
    with cluster.gateway("a", limits={"held_bytes_max": 20_000_000}) as gateway:
        assert_well(gateway)
        before = gateway.resident_kb
        with connected(gateway, 40) as sockets:
            for one in sockets:
                with contextlib.suppress(OSError):
                    one.sendall(half)
            assert gateway.resident_kb - before < 20_000 * 3 + SLACK_KB, "160 MB were sent"
            assert_well(gateway)


def test_a_client_that_asks_for_gigabytes_and_reads_nothing_is_given_little(cluster):
    with (
        cluster.gateway("a", time_factor=5.0, limits={"reply_bytes": 8_000_000}) as gateway,
        gateway.client() as client,
    ):
        client.set("large", bytes(1_000_000))
        before = gateway.resident_kb
        with connected(gateway) as [one]:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                one.sendall(wire.command(b"GET", b"large") * 200_000)
            for _ in range(5):
                assert_well(gateway)
                time.sleep(0.1)
            # Before the size of a reply is known 64 may be under way, from three zones each.
            assert gateway.resident_kb - before < 3 * 64_000 + SLACK_KB


def test_more_clients_than_allowed_are_turned_away(cluster):
    allow_files(2_000)
    with cluster.gateway("a", limits={"clients_max": 300}) as gateway:
        with connected(gateway, 300) as sockets:
            for one in sockets:
                one.sendall(b"ECHO hi\r\n")
                assert one.recv(100) == b"$2\r\nhi\r\n"
            with connected(gateway, 50) as others:
                assert {everything(one) for one in others} == {b"-ERR max number of clients reached\r\n"}
            sockets[0].sendall(b"SET k v\r\n")
            assert sockets[0].recv(100) == b"+OK\r\n"
        until(lambda: served(gateway))


def served(gateway):
    with gateway.client() as client, contextlib.suppress(redis.ConnectionError):
        return client.echo("hi") == b"hi"
    return False


def test_an_idle_client_costs_at_most_twenty_kilobytes(cluster):
    count = 2_000
    if allow_files(count + 500) < count + 100:
        pytest.skip(f"this process may not open {count} files")
    with cluster.gateway("a") as gateway:
        assert_well(gateway)
        before = gateway.resident_kb
        with connected(gateway, count) as sockets:
            for one in sockets:
                one.sendall(b"ECHO hi\r\n")
                assert one.recv(100) == b"$2\r\nhi\r\n"
            assert (gateway.resident_kb - before) / count <= 20
            assert_well(gateway)


def test_a_password_and_tls_keep_others_out(cluster, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on the PATH to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*make, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    options = {"password": "sesame", "certificate": str(certificate), "private_key": str(key)}
    with cluster.gateway("a", **options) as gateway:
        trusting = {"ssl": True, "ssl_ca_certs": str(certificate), "ssl_cert_reqs": "required"}
        with gateway.client(password="sesame", **trusting) as client:
            value = bytes(5_000_000)
            client.set("k", value)
            assert client.get("k") == value
            with client.pipeline(transaction=False) as pipe:
                for _ in range(200):
                    pipe.incr("n")
                assert pipe.execute()[-1] == 200
        with gateway.client(**trusting) as client, pytest.raises(redis.AuthenticationError):
            client.get("k")
        with gateway.client(password="wrong", **trusting) as client, pytest.raises(redis.AuthenticationError):
            client.get("k")
        with gateway.client(password="sesame") as client, pytest.raises((redis.ConnectionError, redis.TimeoutError)):
            client.get("k")
        with pytest.raises(ssl.SSLCertVerificationError), connected(gateway) as [one]:
            ssl.create_default_context().wrap_socket(one, server_hostname="127.0.0.1")


def test_the_port_is_on_loopback_only_by_default(quorum):
    assert quorum.host == "127.0.0.1"
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert f"0100007F:{quorum.port:04X}" in listening
    assert f"00000000:{quorum.port:04X}" not in listening


def test_a_zone_that_stalls_while_others_answer_takes_no_memory_without_end(cluster):
    value = bytes(1_000_000)
    options = {"level": Level.DC_ONE, "time_factor": 1.0, "limits": {"zone_backlog_bytes": 20_000_000}}
    with cluster.gateway("a", **options) as gateway, gateway.client() as client:
        client.set("k", "v")
        before = gateway.resident_kb
        cluster.run(cluster.zone("b").pause())
        try:
            for _ in range(150):
                assert client.set("k", value)
            assert gateway.resident_kb - before < 60_000 + SLACK_KB, "150 MB were sent"
        finally:
            cluster.run(cluster.zone("b").resume())
