"""Programs that a person starts: the ``zonelab`` command, sessions of ``zonelab up``, live pages, gmq as a service.

Read first: ``zonelab.app.cli`` (options and exit codes of all verbs), then ``zonelab.app.verbs`` (what each verb does).
"""
