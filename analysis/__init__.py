"""Analysis of what runs leave behind: the history format, checkers, statistics, figures, reports.

Read first: ``zonelab.analysis.runs.history`` (the format), ``zonelab.analysis.message_classes``, then
``zonelab.analysis.checkers.queue.queue``. Everything works from run directories alone, so that any run can be judged
again, also by a later version.

Imports none of the other packages: a checker that shared code with what it checks could share its mistakes.
"""
