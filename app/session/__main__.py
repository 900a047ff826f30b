"""``python -m zonelab.app.session``: the supervisor; ``zonelab up`` starts it."""

import sys

from zonelab.app.session.supervisor import main

if __name__ == "__main__":
    sys.exit(main())
