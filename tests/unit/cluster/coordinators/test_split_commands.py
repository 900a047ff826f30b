"""Goal: of a pipeline in parts each command is answered once it and those before it are complete.

Method: parts are answered by hand, in an order that is not that of the commands.
"""

from zonelab.cluster.coordinators.split_commands import Fragment, SplitCommand, SplitPipeline
from zonelab.cluster.votes.pipeline import GradualDone

NAMES = "xyz"


class Told(GradualDone):
    def __init__(self):
        self.early = []
        self.outcome = None

    def __call__(self, outcome):
        self.outcome = outcome

    def first(self, answers):
        self.early += answers


def split(*, parts, done):
    fragments = [Fragment(("GET", name), (0,)) for name in NAMES]
    given = [[fragments[index] for index in part] for part in parts]
    pipeline = SplitPipeline([SplitCommand(each.command, [each]) for each in fragments], parts=given, done=done)
    return pipeline, given


def test_first_answers_are_told_in_the_order_of_the_commands():
    told = Told()
    pipeline, (outer, middle) = split(parts=[(0, 2), (1,)], done=told)
    outer_part, middle_part = pipeline.part(0, outer), pipeline.part(0, middle)
    middle_part([b"1"])
    assert told.early == []
    outer_part.first([b"0"])
    assert (told.early, told.outcome) == ([b"0", b"1"], None)
    outer_part([b"2"])
    assert told.outcome == [b"2"]


def test_a_command_that_two_data_centres_are_asked_waits_for_both():
    told = Told()
    pipeline, (here, there) = split(parts=[(0, 1, 2), (0, 1, 2)], done=told)
    here_part, there_part = pipeline.part(0, here), pipeline.part(1, there)
    here_part.first([b"0"])
    assert told.early == []
    there_part([b"0", b"1", b"2"])
    assert told.early == [b"0"]
    here_part([b"1", b"2"])
    assert told.outcome == [b"1", b"2"]


def test_a_caller_that_wants_all_at_once_is_told_all_at_once():
    outcomes = []
    pipeline, (first, rest) = split(parts=[(0,), (1, 2)], done=outcomes.append)
    pipeline.part(0, first)([b"0"])
    assert outcomes == []
    pipeline.part(0, rest)([b"1", b"2"])
    assert outcomes == [[b"0", b"1", b"2"]]
