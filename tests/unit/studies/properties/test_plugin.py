"""Goal: ``sim_test`` runs a coroutine once for each seed, and a failing seed can be run again. Method: pytester."""

import re
import shlex

import pytest

from zonelab.studies.properties import sim_test

pytest_plugins = "pytester"

HEAD = """
    from zonelab.studies.properties import sim_test
    from zonelab.cluster.votes.levels import Level
"""

UNLUCKY = (
    HEAD
    + """
    @sim_test(seeds=50, lag="exponential:2ms")
    async def test_unlucky(testbed):
        draw = testbed.runtime.random("luck").random()
        await testbed.runtime.sleep(1_500_000_000)
        assert draw > 0.2, draw
"""
)


def failing_seed(result):
    return int(re.search(r"zonelab: seed (\d+) failed", result.stdout.str())[1])


@pytest.mark.parametrize(("words", "runs"), [((), 7), (("--zonelab-seeds", "3"), 3)])
def test_a_test_runs_once_for_each_seed_on_a_cluster_of_its_own(pytester, words, runs):
    pytester.makepyfile(
        HEAD
        + f"""
    hashes = []

    @sim_test(seeds=7, lag="exponential:2ms")
    async def test_set(testbed):
        client = testbed.connection("a", Level.DC_QUORUM)
        assert await client.execute(("INCR", "n")) == [1]
        await testbed.runtime.sleep(60_000_000_000)
        hashes.append(testbed.runtime.trace_hash)

    def test_each_was_another_run():
        assert len(set(hashes)) == len(hashes) == {runs}
"""
    )
    pytester.runpytest_inprocess(*words).assert_outcomes(passed=2)


def test_a_failing_seed_is_shown_with_a_command_that_fails_in_the_same_way(pytester):
    pytester.makepyfile(test_luck=UNLUCKY)
    first = pytester.runpytest_inprocess()
    first.assert_outcomes(failed=1)
    seed = failing_seed(first)
    assert seed > 0
    text = first.stdout.str()
    assert "1.5" in re.search(r"failed at (\S+) s of virtual time", text)[1]
    program, *words = shlex.split(re.search(r"again: (.*)", text)[1])
    assert program == "pytest"
    again = pytester.runpytest_inprocess(*words)
    again.assert_outcomes(failed=1)
    assert failing_seed(again) == seed
    drawn = [re.search(r"assert (0\.\d+) > 0\.2", result.stdout.str())[1] for result in (first, again)]
    assert drawn[0] == drawn[1]


def test_a_replayed_seed_is_the_only_one_that_runs(pytester):
    pytester.makepyfile(test_luck=UNLUCKY)
    seed = failing_seed(pytester.runpytest_inprocess())
    pytester.runpytest_inprocess("--zonelab-replay", str(seed - 1)).assert_outcomes(passed=1)


def test_fixtures_parameters_methods_and_skips_work_as_in_any_test(pytester):
    pytester.makepyfile(
        HEAD
        + """
    import pytest

    @pytest.fixture
    def greeting():
        return "hello"

    class TestGreeting:
        @pytest.mark.parametrize("name", ["x", "y"])
        @sim_test(seeds=2, zones=("a",))
        async def test_it(self, testbed, greeting, name, request):
            await testbed.direct("a").execute(("SET", name, greeting))
            assert await testbed.direct("a").execute(("GET", name)) == [b"hello"]
            assert name in request.node.name

    @sim_test(seeds=2)
    async def test_skipped(testbed):
        pytest.skip("not now")
"""
    )
    pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=2, skipped=1)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('testbed.runtime.spawn(broken(), name="broken")', "*ValueError: in the background*"),
        ("await testbed.runtime.promise()", "*nothing is left to happen*"),
    ],
    ids=["an error in the background", "a wait for ever"],
)
def test_what_goes_wrong_beside_the_test_fails_its_seed_at_once(pytester, body, told):
    pytester.makepyfile(
        HEAD
        + f"""
    async def broken():
        raise ValueError("in the background")

    @sim_test(seeds=2)
    async def test_it(testbed):
        {body}
        await testbed.runtime.sleep(1_000)
"""
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    assert failing_seed(result) == 0
    result.stdout.fnmatch_lines([told])


def test_the_command_that_repeats_a_seed_works_from_where_pytest_was_called(pytester, monkeypatch):
    pytester.makeini("[pytest]")
    pytester.makepyfile(**{"suite/test_luck": UNLUCKY})
    (pytester.path / "elsewhere").mkdir()
    monkeypatch.chdir(pytester.path / "elsewhere")
    first = pytester.runpytest_subprocess("../suite/test_luck.py")
    again = shlex.split(re.search(r"again: pytest (.*)", first.stdout.str())[1])
    assert again[0] == "../suite/test_luck.py::test_unlucky"
    second = pytester.runpytest_subprocess(*again)
    second.assert_outcomes(failed=1)
    assert failing_seed(second) == failing_seed(first)


@pytest.mark.parametrize("words", [("--zonelab-seeds", "0"), ("--zonelab-seeds", "many"), ("--zonelab-replay", "-1")])
def test_an_option_without_meaning_is_refused(pytester, words):
    pytester.makepyfile(UNLUCKY)
    result = pytester.runpytest_inprocess("=".join(words))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "accepted: a whole number" in result.stderr.str()


def test_only_a_coroutine_with_a_testbed_can_be_such_a_test():
    async def without(runtime):
        await runtime.sleep(1)

    def plain(testbed):
        return testbed

    for function in (without, plain):
        with pytest.raises(TypeError, match="needs `async def` with a parameter `testbed`"):
            sim_test()(function)
    with pytest.raises(ValueError, match="seeds must be 1 or more, got 0"):
        sim_test(seeds=0)
    with pytest.raises(ValueError, match="unknown lag 'slow'"):
        sim_test(lag="slow")


def test_the_plugin_loads_nothing_of_the_simulation(pytester):
    pytester.makepyfile(
        """
    import sys

    def test_loaded():
        assert "zonelab.studies.properties.plugin" in sys.modules
        assert not {"simpy", "lupa", "zonelab.cluster", "pydantic"} & sys.modules.keys()
"""
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)
