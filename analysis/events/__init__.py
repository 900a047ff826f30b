"""Logs of events that programs of any language write: read, put together to a history, made a run directory."""
