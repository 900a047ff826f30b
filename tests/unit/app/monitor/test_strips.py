"""Goal: a strip has the last two minutes and no more, gaps where nobody answered, and every fault of that time.

Method: samples at made-up times.
"""

from zonelab.app.monitor.strips import LENGTH_MS, WAITING, Strips

ROW = {"zone": "a", "operations_per_s": 5.0, "errors_per_s": 0.0, "p99_ms": 2.0}


def test_points_are_of_two_minutes_with_gaps_where_a_zone_did_not_answer():
    strips = Strips()
    for second in range(200):
        strips.sample(second * 1_000, zones=[{"zone": "a"} if second == 190 else ROW])
    shown = strips.shown(199_000)
    points = dict(shown["strips"]["commands/s"]["a"])
    assert (min(points), max(points), len(points)) == (79_000, 199_000, 121)
    assert {at for at, value in points.items() if value is None} == {190_000}
    assert shown["since_ms"] == 199_000 - LENGTH_MS


def test_two_who_ask_each_second_leave_two_minutes_of_points():
    strips = Strips()
    for tick in range(800):
        strips.sample(tick * 250, zones=[ROW])
    points = dict(strips.shown(799 * 250)["strips"]["commands/s"]["a"])
    assert max(points) - min(points) > LENGTH_MS - 1_000
    assert len(points) <= 241


def test_faults_stay_until_two_minutes_after_their_end():
    strips = Strips()
    strips.sample(10_000, faults=[{"fault": "1:cut a", "since_s": 2.0}])
    assert strips.shown(10_000)["faults"] == [{"fault": "1:cut a", "begin_ms": 8_000, "end_ms": None}]
    strips.sample(11_000)
    strips.sample(12_000)
    assert strips.shown(12_000)["faults"] == [{"fault": "1:cut a", "begin_ms": 8_000, "end_ms": 11_000}]
    strips.sample(11_001 + LENGTH_MS)
    assert strips.shown(11_001 + LENGTH_MS)["faults"] == []


def test_the_depth_of_a_queue_is_that_of_the_zone_that_has_most():
    rows = [{"due": 1, "delayed": 4}, {"due": 3, "delayed": 4}, {"due": None, "delayed": None}]
    strips = Strips()
    strips.sample(1, queues=[{"queue": "jobs", "zones": rows}, {"queue": "own", "zones": []}])
    assert strips.shown(1)["strips"] == {WAITING: {"jobs": [(1, 7)], "own": [(1, None)]}}
