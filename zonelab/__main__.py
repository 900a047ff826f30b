"""``python -m zonelab``: the same as the command ``zonelab``."""

from zonelab.app.cli.main import main

if __name__ == "__main__":
    main()
