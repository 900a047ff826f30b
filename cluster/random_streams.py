"""Named random streams: equal seed and name give equal draws, whatever other streams exist or draw."""

from hashlib import sha256
from random import Random

SEED_MAX = 2**63 - 1


class Streams:
    """Hands out one stream per name; asking again for a name gives the same, already advanced stream."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, Random] = {}

    def stream(self, user: str) -> Random:
        """The generator of ``user``: what it draws depends on the seed and on its own draws alone."""
        if user not in self._streams:
            digest = sha256(f"{self._seed}/{user}".encode()).digest()
            self._streams[user] = Random(int.from_bytes(digest, "big"))
        return self._streams[user]
