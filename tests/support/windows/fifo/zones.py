"""Windows of RocketMQ's fail-over, as zones that are wiped, cut off or warmed: at each level, on three zones."""

from zonelab.cluster.links.link import Cut
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart
from zonelab.engine.ports import PortError

LEVELS = (Level.DC_ONE, Level.DC_QUORUM, Level.DC_SAFE_QUORUM)


def _links(stage, zone):
    return [link for pair, link in stage.lab.cluster.links.items() if zone in pair]


def _dies(stage, zone, restart):
    server = stage.lab.cluster.zones[zone]
    stage.run(server.kill())
    stage.pause_ms(100)
    warm_from = stage.lab.cluster.zones["b"] if restart is Restart.WARM else None
    stage.run(server.restart(restart, warm_from=warm_from))


def w06_zone_wiped(stage):
    stage.produce(20)
    stage.joins("m", "a").until(lambda: stage.finished("m"))
    stage.work_ms = 1_500
    stage.next_message()
    _dies(stage, "b", Restart.WIPE)
    stage.produce(3, first=stage.sent)
    stage.joins("a", "b").until(lambda: stage.told.of("grant", member="a"))
    beside = stage.told.of("grant", member="a")[0].outcome == "ok" and stage.works("m")
    stage.pause_ms(6_000)
    return stage.says("a gets the lock while m works" if beside else "a is refused while m works")


def w07_lock_authority_split(stage):
    stage.produce(500)
    stage.joins("m", "a").until(lambda: stage.finished("m"))
    stage.joins("n", "b").pause_ms(1_000)
    for link in _links(stage, "b"):
        link.cut(Cut.DROP)
    stage.pause_ms(10_000)
    for link in _links(stage, "b"):
        link.mend()
    stage.pause_ms(3_000)
    return stage.says(f"n begins {len(stage.started('n'))}")


def w16_tail_lost(stage):
    stage.produce(3)
    stage.pause_ms(100)
    for link in _links(stage, "a"):
        link.cut(Cut.DROP)
    confirmed = 0
    for _ in range(3):
        try:
            stage.send(stage.sends, 1, "k")
            confirmed += 1
        except PortError:
            stage.sent += 1
    _dies(stage, "a", Restart.WARM)
    for link in _links(stage, "a"):
        link.mend()
    stage.pause_ms(12_000)
    stage.send(stage.sender("q"), 3, "k")
    stage.joins("m", "a").pause_ms(3_000)
    return stage.says(f"{confirmed} of 3 confirmed on the cut side")


COURSES = {name: course for name, course in list(globals().items()) if name.startswith("w") and name[1:3].isdigit()}
