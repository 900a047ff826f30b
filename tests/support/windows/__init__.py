"""The windows in which dyno-queues can go wrong, each a short course of events on three simulated zones."""

from support.windows import clients, crashes, lags, races, replicas, zones
from support.windows.stage import Course, Stage

COURSES: dict[str, Course] = {
    name: course
    for module in (crashes, races, clients, lags, replicas, zones)
    for name, course in module.COURSES.items()
}
"""By name. A course returns what was seen, in words."""

__all__ = ["COURSES", "Course", "Stage"]
