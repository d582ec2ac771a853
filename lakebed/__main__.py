"""`python -m lakebed`, and `lakebed`, are the command line."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line and run it; Ctrl-C is heeded from the first moment on."""
    try:
        from lakebed.cli.main import main as run  # here, so that Ctrl-C while it is loaded shows no traceback
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
