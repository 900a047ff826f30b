"""Goal: a port in strict mode refuses each form of the table; without strict mode it refuses none of them.

Method: the examples that scenarios have as well, and those that only a port has, by redis-py to gateways of one, three
and four zones on three real servers.
"""

from contextlib import ExitStack

import pytest
import redis
from support.cluster.strict_forms import EXAMPLES, TAKEN
from support.cluster.zones import peers
from support.programs import until

from zonelab.cluster.options.strict.forms import PREFIX
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart

pytestmark = pytest.mark.real

ERR = "ERR "
PLAIN = EXAMPLES[0]


@pytest.fixture(scope="module")
def gateways(cluster):
    """By its zones, those of another data centre, and whether it is strict: a gateway of zone a.

    A fourth zone shares c's server, and there is no other coordinator.
    """
    made = {}
    with ExitStack() as stack:

        def gateway(example, strict):
            wanted = (example.zones, example.far, strict)
            if wanted not in made:
                options = {"zones": {zone: str(cluster.addresses[min(zone, "c")]) for zone in example.zones}}
                if example.far:
                    options["topology"] = {"data_centres": example.data_centres}
                    options["peers"] = stack.enter_context(peers("a", *example.far))
                made[wanted] = stack.enter_context(cluster.gateway("a", replication={"strict": strict}, **options))
            return made[wanted]

        yield gateway


@pytest.fixture
def planted(cluster, gateways, request):
    """The example, with the zones as it wants them."""
    example = request.param
    cluster.flush()
    for zone, commands in example.planted.items():
        with cluster.direct(zone) as server:
            for command in commands:
                server.execute_command(*command)
    for zone in example.down:
        cluster.run(cluster.zone(zone).kill())
    yield example
    for zone in example.down:
        cluster.run(cluster.zone(zone).restart(Restart.KEEP))
    for strict in (True, False) if example.down else ():
        until_a_quorum_is_reached(gateways(example, strict))


def until_a_quorum_is_reached(gateway):
    until(lambda: str(answer(gateway, Level.DC_QUORUM, ("SET", "k", "v"))) == "b'OK'")


def answer(gateway, level, command):
    """What a client is told, an error as its text."""
    with gateway.client(protocol=2) as client:
        connection = client.connection_pool.get_connection()
        connection.send_command("DYNO_CONFIG:CONN_CONSISTENCY", level)
        assert connection.read_response() == b"OK"
        connection.send_command(*command)
        try:
            return connection.read_response()
        except (redis.ResponseError, redis.AuthenticationError) as error:
            return error


@pytest.mark.parametrize("planted", EXAMPLES, indirect=True, ids=str)
def test_each_form_is_refused_in_strict_mode_and_only_there(gateways, planted):
    refused = answer(gateways(planted, True), planted.level, planted.command)
    assert ERR + str(refused) == planted.form.refusal(str(planted.command[0]))
    assert PREFIX.removeprefix(ERR) not in str(answer(gateways(planted, False), planted.level, planted.command))


def test_what_dynomite_takes_as_well_is_answered_as_without_strict_mode(cluster, gateways):
    def answers(strict):
        cluster.flush()
        with gateways(PLAIN, strict).client(protocol=2) as client:
            apart = [client.execute_command(*command) for command in TAKEN]
            pipeline = client.pipeline(transaction=False)
            for command in TAKEN:
                pipeline.execute_command(*command)
            return apart, pipeline.execute()

    assert answers(strict=True) == answers(strict=False)


def test_a_client_with_a_password_logs_in(cluster):
    with cluster.gateway("a", replication={"strict": True}, password="secret") as gateway:
        with gateway.client(protocol=2, password="secret") as client:
            assert client.set("k", "v")
        with gateway.client(protocol=3, password="secret") as client, pytest.raises(redis.ResponseError, match="HELLO"):
            client.ping()
