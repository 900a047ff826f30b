"""Goal: faults of links do to the cluster what their names say, and undo it; what they break is seen, and nothing else.

Method: the actions of one fault begun and ended by hand; then short runs beside the same run without the fault.
"""

from itertools import pairwise

import pytest
from support.scenarios.fault_stage import LOAD, Stage, latencies_ms, ran, violated

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.links.link import Cut


class TestLoss:
    def test_links_lose_so_much_and_then_as_much_as_before(self) -> None:
        stage = Stage(kind="loss", zone="a", share=0.4)
        stage.cluster.links["a", "b"].set_loss(0.1)
        stage.begin()
        assert {pair: link.loss for pair, link in stage.cluster.links.items()} == {
            pair: 0.4 if "a" in pair else 0.0 for pair in stage.cluster.links
        }
        stage.end()
        assert stage.cluster.links["a", "b"].loss == 0.1
        assert stage.cluster.links["b", "a"].loss == 0.0

    def test_what_is_lost_is_sent_again_after_200_milliseconds(self) -> None:
        fault = {"kind": "loss", "share": 0.02, "at_s": 0.1, "for_s": 1.8}
        factor = {"time_factor": 1.0}
        lossy, _ = ran(load=LOAD, level="DC_SAFE_QUORUM", replication=factor, faults=[fault], drain={"bound_s": 20})
        whole, _ = ran(load=LOAD, level="DC_SAFE_QUORUM", replication=factor, drain={"bound_s": 20})
        assert latencies_ms(whole, "push")[-1] < 100
        assert latencies_ms(lossy, "push")[-1] > 200


class TestDuplicate:
    def test_what_is_sent_arrives_again_and_then_no_more(self) -> None:
        stage = Stage(kind="duplicate", link="a>b", share=1.0, after_ms=20)
        stage.begin()
        stage.write()
        stage.pass_ms(10)
        assert stage.cluster.links["a", "b"].in_flight == 1
        assert stage.cluster.links["a", "c"].in_flight == 0
        stage.end()
        stage.pass_ms(100)
        stage.write()
        stage.pass_ms(10)
        assert stage.cluster.links["a", "b"].in_flight == 0

    def test_copies_that_come_at_once_harm_no_queue_and_late_ones_bring_back_what_was_acknowledged(self) -> None:
        fault = {"kind": "duplicate", "share": 1.0, "at_s": 0.2, "for_s": 1.5}
        _, at_once = ran(load=LOAD, faults=[fault])
        _, late = ran(load=LOAD, faults=[{**fault, "after_ms": 500}])
        assert violated(at_once) == set()
        assert late.counts[MessageClass.RESURRECTED] > 10


class TestClogs:
    @pytest.mark.parametrize(
        ("target", "cut"), [({"link": "a>b"}, ["a>b"]), ({"zone": "b"}, ["a>b", "b>a", "b>c", "c>b"])]
    )
    def test_a_clogged_link_holds_what_is_sent_and_lets_it_go(self, target: dict[str, str], cut: list[str]) -> None:
        stage = Stage(kind="clog", **target)
        stage.begin()
        assert stage.cut_links() == cut
        assert {link.cut_mode for link in stage.cluster.links.values() if link.cut_mode} == {Cut.HOLD}
        stage.write()
        stage.pass_ms(100)
        assert stage.cluster.links["a", "b"].in_flight == 1
        stage.end()
        stage.pass_ms(100)
        assert stage.cut_links() == []
        assert stage.runtime.run_until_complete(stage.cluster.direct("b").execute(("GET", "k"))) == [b"v"]

    def test_a_swizzle_clogs_link_after_link_and_frees_them_in_another_order(self) -> None:
        stage = Stage(kind="swizzle_clog", for_s=1.2)
        stage.begin()
        stage.pass_ms(50)
        seen = [stage.cut_links()]
        for _ in range(12):
            stage.pass_ms(100)
            seen.append(stage.cut_links())
        assert [len(links) for links in seen] == [1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 0]
        clogged = [(set(later) - set(earlier)).pop() for earlier, later in zip([[], *seen[:5]], seen[:6], strict=True)]
        freed = [(set(earlier) - set(later)).pop() for earlier, later in pairwise(seen[6:])]
        assert sorted(clogged) == sorted(freed)
        assert clogged != freed

    def test_the_order_is_that_of_its_number_and_an_early_end_frees_all(self) -> None:
        def clogged(order: int) -> list[str]:
            stage = Stage(kind="swizzle_clog", zone="b", order=order)
            stage.begin()
            first = stage.cut_links()
            stage.pass_ms(300)
            second = stage.cut_links()
            stage.end()
            stage.pass_ms(2_000)
            assert stage.cut_links() == []
            return [*first, *second]

        assert clogged(1) == clogged(1)
        assert len({tuple(clogged(order)) for order in range(5)}) > 1

    def test_a_push_that_needs_every_zone_takes_as_long_as_the_clog(self) -> None:
        fault = {"kind": "clog", "zone": "b", "at_s": 0.5, "for_s": 0.4}
        factor = {"time_factor": 1.0}
        operations, verdict = ran(
            load=LOAD, level="DC_SAFE_QUORUM", replication=factor, faults=[fault], drain={"bound_s": 20}
        )
        assert violated(verdict) == set()
        assert latencies_ms(operations, "push", "b")[-1] == pytest.approx(400, abs=50)
