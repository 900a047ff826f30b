"""Goal: without faults, zones of several nodes answer as one server does. Method: the same pipelines."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.cluster.racks import even_rack
from support.cluster.sim_lab import simulated

from zonelab.cluster.topology.topology import DataCentre, Rack, Topology
from zonelab.cluster.votes.levels import Level

KEYS = [f"k{number}" for number in range(8)]
KEY = st.sampled_from(KEYS)
MANY = st.lists(KEY, min_size=1, max_size=6)
COMMANDS = st.one_of(
    st.tuples(st.just("SET"), KEY, st.integers(0, 9)),
    st.tuples(st.sampled_from(["GET", "INCR", "STRLEN", "TYPE"]), KEY),
    st.builds(lambda name, keys: (name, *keys), st.sampled_from(["MGET", "DEL", "EXISTS", "UNLINK", "TOUCH"]), MANY),
    st.builds(lambda keys: ("MSET", *(word for key in dict.fromkeys(keys) for word in (key, 7))), MANY),
    st.builds(lambda name, key: (name, key), st.sampled_from(["HGETALL", "LLEN"]), st.just("absent")),
)
ZONES = st.lists(st.integers(1, 3), min_size=1, max_size=4)


def replies(topology, pipelines, level):
    @simulated(topology=topology)
    async def said(cluster):
        found = []
        for index, pipeline in enumerate(pipelines):
            node = topology.nodes[index % len(topology.nodes)]
            found.append(await cluster.connection(node, level).execute(*pipeline))
            await cluster.runtime.sleep(1_000_000)
        return found

    return said()


def racks(sizes, prefix):
    return tuple(even_rack(f"{prefix}{'abcd'[index]}", size) for index, size in enumerate(sizes))


ALONE = Topology((DataCentre("dc", (Rack("one", even_rack("one", 1).nodes),)),))


@settings(max_examples=40, deadline=None)
@given(
    east=ZONES,
    west=st.lists(st.integers(1, 2), max_size=2),
    pipelines=st.lists(st.lists(COMMANDS, min_size=1, max_size=5), min_size=1, max_size=6),
    level=st.sampled_from(list(Level)),
)
def test_nodes_and_data_centres_without_faults_answer_as_one_server(east, west, pipelines, level):
    dcs = (DataCentre("east", racks(east, "x")), *([DataCentre("west", racks(west, "y"))] if west else []))
    assert replies(Topology(dcs), pipelines, level) == replies(ALONE, pipelines, Level.DC_ONE)
