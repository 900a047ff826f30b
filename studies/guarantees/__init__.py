"""Tables over many runs: the matrix of guarantees, and the ablations of mechanisms and of options.

Read first: ``zonelab.studies.guarantees.matrix``, then ``zonelab.studies.guarantees.ablation``. A study and its report
(terminal, Markdown, JSON) are two modules.
"""
