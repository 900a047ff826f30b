"""``python -m zonelab.cluster.admin --config FILE --admin FILE``: ``zonelab.cluster.resp`` with its administration
beside it.
"""

import argparse
import os
import sys
from pathlib import Path

from zonelab.cluster.admin.app import administration
from zonelab.cluster.admin.settings import TOKEN_VARIABLE, read_admin_settings
from zonelab.cluster.resp.gateway.configuration import read_configuration
from zonelab.cluster.resp.gateway.program import exit_code, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m zonelab.cluster.admin", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="JSON file of the gateway")
    parser.add_argument("--admin", type=Path, required=True, help="JSON file of its administration")
    given = parser.parse_args()

    def serve() -> None:
        settings = read_admin_settings(given.admin, token=os.environ.get(TOKEN_VARIABLE) or None)
        run(read_configuration(given.config), companions=[administration(settings)])

    return exit_code(serve)


if __name__ == "__main__":
    sys.exit(main())
