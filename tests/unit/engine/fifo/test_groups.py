"""Goal: every group gets every message, members of a group share them, and with broadcasting each gets all.

Method: members on one simulated zone, in both modes.
"""

from support.engine.fifo_group import GroupBench

from zonelab.engine.fifo.partition import partitions_of


def served(bench, **wanted):
    ends = [each for each in bench.told.of("end") if all(getattr(each, name) == it for name, it in wanted.items())]
    return sorted((each.partition, each.offset) for each in ends)


def filled(lab, mode, **settings):
    bench = GroupBench(lab, mode, partitions=4, work_ms=1, **settings)
    bench.fill(10)
    return bench, [(f"t/{number}", offset) for number in range(4) for offset in range(10)]


def test_every_group_gets_every_message_and_its_members_share_them(lab, mode):
    bench, everything = filled(lab, mode)
    for group in ("mails", "bills"):
        for number in (1, 2):
            bench.start(f"{group}{number}", group=group)
    bench.until(lambda: len(bench.finished()) >= 80)
    for group in ("mails", "bills"):
        assert served(bench, group=group) == everything
        shares = [{partition for partition, _ in served(bench, member=f"{group}{number}")} for number in (1, 2)]
        assert shares == [{"t/0", "t/1"}, {"t/2", "t/3"}]


def test_broadcasting_gives_every_member_everything_without_locks_and_each_goes_on_where_it_was(lab, mode):
    bench, everything = filled(lab, mode, sharing="broadcasting")
    bench.start("m").start("n").until(lambda: len(bench.finished()) == 80)
    assert served(bench, group="group/m") == served(bench, group="group/n") == everything
    assert bench.told.of("grant") == bench.told.of("renew") == []
    bench.close("m")
    bench.produce(2, first=10)
    known = len(bench.finished("m"))
    bench.start("m").until(lambda: len(bench.finished("m")) == known + 2)
    assert bench.finished("m")[known:] == [10, 11]


def test_a_changed_subscription_is_told_to_the_group_and_recorded(lab, mode):
    bench = GroupBench(lab, mode, partitions=2, work_ms=1)
    bench.start("m").start("n").until(lambda: {each.member for each in bench.told.of("grant")} == {"m", "n"})
    members = bench.zones(lab.direct("a")).members
    before = bench.run(members.changes())
    more = partitions_of("u", 2, ("a",))
    for name in "mn":
        bench.run(bench.programs[name][0].subscribe([*bench.partitions, *more]))
    bench.until(lambda: len({each.partition for each in bench.told.of("assign")}) == 4)
    assert bench.run(members.changes()) == before + 2
    subscribed = [each.detail for each in bench.told.of("member") if each.status == "subscribed"]
    assert subscribed == ["t u", "t u"]
    bench.produce(1, partition=more[1])
    bench.until(lambda: served(bench, member="n") == [("u/1", 0)])
