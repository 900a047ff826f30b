"""Goal: pages say truly how many runs were made, when, and how fast. Method: the sentence for each case."""

from zonelab.studies.many_runs.page import effort, provenance


def test_only_runs_made_now_count_for_the_speed():
    assert effort(runs=1_200, took_s=60) == "1,200 runs in 60 s, 20.0 a second"
    told = effort(runs=1_200, took_s=60, known=600)
    assert told == "1,200 runs, 600 of them reused, 600 now in 60 s, 10.0 a second"


def test_no_speed_is_told_where_nothing_was_run():
    """A page once said 74276.4 runs a second: all of them had been read from a file."""
    told = provenance("zonelab matrix", runs=10_592, took_s=0.14, known=10_592)
    assert told.endswith(": 10,592 runs, 10,592 of them reused.")


def test_what_takes_longer_than_a_second_has_no_speed_of_nought():
    assert effort(runs=1, took_s=45.2, unit=("search", "searches")) == "1 search in 45 s"
