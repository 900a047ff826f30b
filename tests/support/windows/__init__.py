"""The windows in which dyno-queues can go wrong, each a short course of events on three simulated zones."""

from support.windows import clients, crashes, lags, pipelines, races, replicas, rings, zones
from support.windows.stage import Course, Stage

COURSES: dict[str, Course] = {
    name: course
    for module in (crashes, races, clients, lags, rings, replicas, zones, pipelines)
    for name, course in module.COURSES.items()
}
"""By name. A course returns what was seen, in words."""

ON_A_RING = tuple(rings.COURSES)
"""Those that need zones of two servers."""

__all__ = ["COURSES", "ON_A_RING", "Course", "Stage"]
