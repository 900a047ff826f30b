"""Goal: bytes between zones are those that RESP has. Method: sizes beside hiredis' encoder; simulated links."""

import hiredis
import pytest
from support.scenarios.sim_runs import SMALL

from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.connections.wire_size import bytes_of_answer, bytes_of_commands
from zonelab.engine.ports import ServerError
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import scenario_of


@pytest.mark.parametrize(
    "command", [("GET", "k"), ("SET", "key", b"\x00" * 100, "PX", 20_000), ("ZADD", "ü", 1.5, "m")]
)
def test_a_command_has_the_bytes_of_its_wire_form(command: tuple) -> None:
    assert bytes_of_commands([command, command]) == 2 * len(hiredis.pack_command(command))


@pytest.mark.parametrize(
    ("reply", "wire"),
    [
        (None, b"$-1\r\n"),
        (12, b":12\r\n"),
        (b"OKAY", b"$4\r\nOKAY\r\n"),
        (ServerError("ERR no"), b"-ERR no\r\n"),
        ([b"a", [1, None]], b"*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n"),
    ],
)
def test_a_reply_has_the_bytes_of_its_wire_form(reply, wire: bytes) -> None:
    assert bytes_of_answer([reply]) == len(wire)
    assert bytes_of_answer(ZoneFailure("ERR no", maybe_applied=False)) == len(b"-ERR no\r\n")


def sent_bytes(lag: str, payload_bytes: int) -> dict[str, dict[str, int]]:
    load = {"duration_s": 1, "rate_per_s": 20, "payload_bytes": payload_bytes}
    scenario = scenario_of({**SMALL, "links": {"lag": lag}, "load": load}, source="small.yaml")
    coordinators = attempt(scenario).run.record.coordinators
    return {zone: one["sent_bytes"] for zone, one in coordinators.items()}


def test_links_of_simulated_zones_carry_each_payload_to_every_other_zone() -> None:
    """Without lag nothing is counted, as nothing is on the way."""
    small, large = sent_bytes("1ms", 100), sent_bytes("1ms", 1_100)
    zones = set(small)
    assert all(set(others) == zones - {zone} for zone, others in small.items())
    more = sum(sum(others.values()) for others in large.values()) - sum(
        sum(others.values()) for others in small.values()
    )
    pushed = 20 * len(zones) * (len(zones) - 1)
    assert more > 0.8 * 1_000 * pushed
    assert all(others == {} for others in sent_bytes("0", 100).values())
