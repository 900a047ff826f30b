"""Record what a real server replies to drawn commands: ``PYTHONPATH=tests python tests/conformance/record_replies.py``.

With names of groups, such as ``streams``, or of families, such as ``geo``, their conversations are recorded in addition
to those that are kept.

Each conversation is about values of one type, or about scripts and whatever else the comparison of both does; of many
drawn ones those are kept that lead the model where those before them did not. The lines that clients of a port send are
recorded as well, with the table of commands.
"""

import os
import sys
import time
import warnings
from random import Random
from struct import unpack

import coverage
import test_redis_model as drawn
from coverage.exceptions import CoverageWarning
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test
from support.cluster import port_lines
from support.cluster.command_families import Commands
from support.cluster.command_table import MODELLED
from support.cluster.recorded_replies import Conversation, conversations, keep
from support.cluster.redis_pair import Client, Pair, real_server

from zonelab.cluster.sim.redis.model import encode
from zonelab.cluster.sim.redis.server_commands import WRITES
from zonelab.cluster.zone import Address
from zonelab.engine.ports import ServerError

DRAWN = int(os.environ.get("ZONELAB_RECORDED_DRAWN", "150"))
"""Conversations of each group."""

KEPT_STEPS = {"of scripts": 700, "of a family": 120, "else": 600}
FAMILIES = ("functions", "geo", "sketches")
"""Those of ``command_families`` that no group has."""

UNSTEADY = {b"OBJECT", b"RANDOMKEY"}
"""Commands whose reply is not always the same."""

STEPS = 40
FOR_ALL = {
    "max_examples": DRAWN,
    "deadline": None,
    "phases": [Phase.generate],
    "database": None,
    "suppress_health_check": list(HealthCheck),
}

SCANS = drawn.words(
    st.sampled_from(["HSCAN", "SSCAN", "ZSCAN"]), drawn.keys, 0, "COUNT", 1000, drawn.maybe("MATCH", drawn.patterns)
) | drawn.words(
    *("SCAN", 0, "COUNT", 1000),
    drawn.maybe("MATCH", drawn.patterns),
    drawn.maybe("TYPE", st.sampled_from(["string", "hash", "list", "set", "zset", "x"])),
)
GROUPS = {
    "strings": drawn.STRINGS,
    "hashes": drawn.HASHES,
    "sorted sets": drawn.SORTED_SETS,
    "lex": drawn.LEX,
    "lists": drawn.LISTS,
    "sets": drawn.SETS,
    "streams": drawn.STREAMS,
    "keys": drawn.KEYS | SCANS | drawn.EVERYTHING,
}


class Listened:
    """A client of a server that notes what is said, and where the model goes meanwhile."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._said: list = []
        self._measured = coverage.Coverage(data_file=None, branch=True, source_pkgs=["zonelab.cluster.sim.redis"])
        self.pair = Pair(self)
        self._said.clear()
        self._began_us = time.time_ns() // 1000
        self._measured.start()

    def execute(self, command):
        reply = self._client.execute(command)
        self._said.append(([encode(word) for word in command], reply))
        return reply

    def end(self) -> tuple[Conversation, frozenset]:
        self.pair.compare_contents()
        self._measured.stop()
        data = self._measured.get_data()
        arcs = {(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()}
        return (self._began_us, self._said), frozenset(arcs)


def of_group(client, name):
    found = []

    @seed(sorted(GROUPS).index(name))
    @settings(**FOR_ALL)
    @given(st.lists(st.one_of(*[GROUPS[name]] * 9, SCANS), min_size=STEPS, max_size=STEPS))
    def converse(commands):
        listened = Listened(client)
        for command in commands:
            listened.pair.run(*command)
        found.append(listened.end())

    converse()
    return found


def of_family(client, name):
    found = []
    random, commands = Random(name), Commands(modelled=MODELLED)
    for _ in range(DRAWN):
        listened = Listened(client)
        for command in commands.program(random, name, STEPS):
            words = [word.upper() for word in command[:2]]
            if words[0] not in UNSTEADY and words != [b"FUNCTION", b"LIST"]:
                listened.pair.run(*command)
        found.append(listened.end())
    return found


def of_scripts(client):
    found = []

    class Recording(drawn.ModelAgainstServer):
        """Without what is recorded by group, and what the model chooses at random."""

        random_members = scans = on_strings = on_hashes = on_sorted_sets = members_of_equal_score = None
        on_lists = on_sets = on_keys = None

        @initialize()
        def begin(self):
            self.listened = Listened(client)
            self.pair = self.listened.pair

        @rule(command=drawn.CALLS)
        def scripts_that_look_at_replies(self, command):
            """In fewer words."""
            script = (
                "local r=redis.pcall(unpack(ARGV)) return type(r)..(type(r)=='table' and (r.ok or r.err or #r) or '')"
            )
            self.pair.run("EVAL", script, 0, *command)

        @rule(command=drawn.EVERYTHING)
        def on_anything(self, command):
            self.pair.run(*command)

        def teardown(self):
            if hasattr(self, "pair"):
                found.append(self.listened.end())

    run_state_machine_as_test(
        seed(1)(Recording),
        settings=settings(stateful_step_count=STEPS, **FOR_ALL),
    )
    return found


def of_numbers(client):
    """Scores of all magnitudes, and how the server prints them."""
    draw = Random(1)
    scores = [unpack("d", draw.randbytes(8))[0] for _ in range(300)]
    scores += [draw.uniform(-1, 1) * 10 ** draw.randrange(-9, 18) for _ in range(200)]
    scores += [draw.randrange(10**12, 2 * 10**12) + draw.randrange(100) / 100 for _ in range(100)]
    members = [word for number, score in enumerate(scores) if score == score for word in (repr(score), f"m{number}")]
    listened = Listened(client)
    listened.pair.run("ZADD", "z", *members)
    listened.pair.run("ZRANGE", "z", 0, -1, "WITHSCORES")
    return listened.end()[0]


def chosen(found, steps_max):
    """First those that take most arcs which none before has taken, then those of the most arcs, up to ``steps_max``."""
    taken: set = set()
    kept, steps, left = [], 0, sorted(found, key=lambda each: -len(each[1]))
    seen: dict = {}
    while left and steps < steps_max:
        best = max(left, key=lambda each: len(each[1] - taken))
        left.remove(best)
        taken |= best[1]
        began_us, said = best[0]
        new = [step for step in said if _matters(step, seen)]
        kept.append((began_us, new))
        steps += len(new)
    return kept


def _matters(step, seen) -> bool:
    """A read that finds nothing, or a refusal, changes nothing; twice it is enough."""
    words, reply = step
    name = words[0].decode("latin-1").lower()
    if not (isinstance(reply, ServerError) or (name not in WRITES and reply in (None, 0, [], [b"0", []], -2))):
        return True
    key = name, len(words), repr(reply)[:60]
    seen[key] = seen.get(key, 0) + 1
    return seen[key] <= 2


def recorded(client: Client, groups: list[str]) -> list[Conversation]:
    found = []
    for name in groups:
        is_family = name in FAMILIES
        drawn_ones = of_family(client, name) if is_family else of_group(client, name)
        found += chosen(drawn_ones, KEPT_STEPS["of a family" if is_family else "else"])
    return found


def recorded_anew(client: Client) -> list[Conversation]:
    found = recorded(client, [*GROUPS, *FAMILIES])
    found += chosen(of_scripts(client), KEPT_STEPS["of scripts"])
    found.append(of_numbers(client))
    address: Address = client.address
    client.execute(("FLUSHALL",))
    port_lines.record((address.host, address.port))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore", CoverageWarning)
    with real_server() as server:
        named = sys.argv[1:]
        keep([*conversations(), *recorded(server, named)] if named else recorded_anew(server))
