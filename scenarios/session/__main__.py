"""``python -m scenarios.session``: the supervisor; ``zonelab up`` starts it."""

import sys

from scenarios.session.supervisor import main

if __name__ == "__main__":
    sys.exit(main())
