"""Which partition a key goes to. Pure functions."""
