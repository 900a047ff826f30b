"""``python -m zonelab.scenarios.session``: the supervisor; ``zonelab up`` starts it."""

import sys

from zonelab.scenarios.session.supervisor import main

if __name__ == "__main__":
    sys.exit(main())
