"""Goal: a zone's port is its own for life. Method: real sockets beside a reservation."""

import socket

import pytest

from zonelab.cluster.real.zones.port import HOST, PortReservation
from zonelab.cluster.zone import ZoneError


@pytest.fixture
def reservation():
    reserved = PortReservation(None)
    yield reserved
    reserved.release()


def listener(port):
    """Listens as Redis, Valkey and Docker's proxy do."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, port))
    listening.listen()
    return listening


def test_a_free_port_is_below_the_range_of_outgoing_connections(reservation):
    with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
        first_outgoing = int(limits.read().split()[0])
    assert 1024 <= reservation.port < first_outgoing


def test_a_server_can_listen_on_a_reserved_port_again_and_again(reservation):
    for _ in range(3):
        with listener(reservation.port), socket.create_connection((HOST, reservation.port), timeout=10):
            pass


def test_connections_to_a_reserved_port_are_refused_while_nobody_listens(reservation):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, reservation.port), timeout=10)


def test_a_reserved_port_is_not_given_to_a_program_that_binds_it_plainly(reservation):
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, reservation.port))


def test_many_reservations_are_all_different():
    reservations = [PortReservation(None) for _ in range(200)]
    assert len({reserved.port for reserved in reservations}) == 200
    for reserved in reservations:
        reserved.release()


def test_a_given_port_is_reserved_and_released(reservation):
    port = reservation.port
    reservation.release()
    given = PortReservation(port)
    assert given.port == port
    given.release()
    with socket.socket() as other:
        other.bind((HOST, port))


def test_a_port_that_somebody_listens_on_is_refused_by_number():
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ZoneError, match=rf"^port {port} of {HOST} cannot be used: another program listens on it$"):
            PortReservation(port)
