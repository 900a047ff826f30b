"""Goal: in strict mode each form of the table is refused before it is carried out, or its reply is withheld; what
Dynomite takes as well is answered as without.

Method: examples of every form, through the coordinator of zone a of a simulated cluster.
"""

import pytest
from support.cluster.sim_lab import settings_of
from support.cluster.strict_forms import EXAMPLES, TAKEN, THREE
from support.project_files import ROOT

from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.options.strict.door import REFUSED
from zonelab.cluster.options.strict.forms import FORMS, PREFIX, REQUESTS, VOTES
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.topology.described import topology_of
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable

PAGE = ROOT / "docs/strict.md"
IN_PROCESS = [example for example in EXAMPLES if not example.at_port]


def play(program, *, strict, zones=THREE, data_centres=None, lag_ms=0):
    lag = ConstantLag(lag_ms)
    topology = topology_of(data_centres or {"dc": {zone: [zone] for zone in zones}})
    cluster = SimCluster(zones, settings_of(SimSettings, strict=strict, lag=lag, topology=topology))

    async def whole():
        async with cluster:
            return await program(cluster)

    return cluster.runtime.run_until_complete(whole())


async def answers(connection, *commands):
    try:
        return await connection.execute(*commands)
    except PortError as error:
        return error


def tried(example, *, strict):
    """The answer to the example, what zone a holds then, and how many refusals were counted."""

    async def program(cluster):
        for zone, commands in example.planted.items():
            await cluster.direct(zone).execute(*commands)
        for zone in example.down:
            await cluster.zones[zone].kill()
        told = await answers(cluster.connection("a", example.level), example.command)
        told = told if isinstance(told, PortError) else told[0]
        held = None if "a" in example.down else (await cluster.direct("a").execute(("DBSIZE",)))[0]
        return told, held, cluster.coordinators["a"].statistics.options.get(REFUSED, 0)

    return play(program, strict=strict, zones=example.zones, data_centres=example.data_centres)


@pytest.mark.parametrize("example", IN_PROCESS, ids=str)
def test_each_form_is_refused_with_its_own_error_and_counted(example):
    told, held, counted = tried(example, strict=True)
    assert isinstance(told, (ServerError, PortError))
    assert str(told) == example.form.refusal(str(example.command[0]))
    assert counted == 1
    if example.form in REQUESTS:
        assert isinstance(told, ServerError)
        assert held == len(example.planted.get("a", ())), "it was carried out"
    elif example.form in VOTES and is_write(example.command):
        assert isinstance(told, Indeterminate)


@pytest.mark.parametrize("example", IN_PROCESS, ids=str)
def test_without_strict_mode_each_form_is_answered_as_ever(example):
    told, _, counted = tried(example, strict=False)
    assert PREFIX not in str(told)
    assert isinstance(told, (ServerError, PortError)) is example.fails
    assert counted == 0


def test_every_form_of_the_table_has_an_example():
    assert {example.form for example in IN_PROCESS} == set(FORMS)


def test_what_dynomite_takes_as_well_is_answered_as_without_strict_mode():
    async def program(cluster):
        connection = cluster.connection("a", Level.DC_QUORUM)
        return [await connection.execute(command) for command in TAKEN], await connection.execute(*TAKEN)

    assert play(program, strict=True) == play(program, strict=False)


def test_a_refused_command_leaves_the_rest_of_its_pipeline_alone():
    async def program(cluster):
        connection = cluster.connection("a", Level.DC_QUORUM)
        commands = ("SET", "k", "v"), ("LPOP", "k", "2"), ("GET", "k"), ("MGET", "k", "l"), ("ZPOPMIN", "z")
        return await connection.execute(*commands)

    first, refused, value, values, last = play(program, strict=True)
    assert (first, value, values) == (b"OK", b"v", [b"v", None])
    assert [str(each).split(":")[1] for each in (refused, last)] == [" LPOP", " ZPOPMIN"]


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ([("EVAL", "return {{1}, 2}", "1", "k")], Indeterminate),
        ([("SET", "k", "v"), ("MGET", "large")], list),
        ([("MGET", "large")], list),
    ],
)
def test_a_withheld_reply_leaves_a_doubt_only_about_what_may_have_been_written(commands, expected):
    async def program(cluster):
        for zone in "abc":
            await cluster.direct(zone).execute(("SET", "large", "x" * 20_000))
        return await answers(cluster.connection("a", Level.DC_QUORUM), *commands)

    assert isinstance(play(program, strict=True), expected)


def test_one_key_and_an_error_of_the_own_zone_are_no_form_of_the_table():
    async def program(cluster, *commands, down):
        for zone in down:
            await cluster.zones[zone].kill()
        return [await answers(cluster.connection("a", Level.DC_QUORUM), command) for command in commands]

    one_key = play(lambda cluster: program(cluster, ("MGET", "k"), down="bc"), strict=True)
    own_first = play(lambda cluster: program(cluster, ("MSET", "k", "1", "l", "2"), down="ab"), strict=True, lag_ms=1)
    assert [type(error) for error in one_key + own_first] == [Unavailable, Indeterminate]
    assert not any(PREFIX in str(error) for error in one_key + own_first)


def test_the_page_lists_every_form_and_what_dynomite_does():
    cells = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    listed = [(row[0].removeprefix("| "), row[1], row[2]) for row in cells if row[1] in ("request", "vote", "reply")]
    looked_at = dict.fromkeys(REQUESTS, "request") | dict.fromkeys(VOTES, "vote")
    assert listed == [(form.what, looked_at.get(form, "reply"), form.does) for form in FORMS]
