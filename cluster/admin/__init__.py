"""Administration of a running coordinator over HTTP: what it does, how fast, and what its links do to it."""
