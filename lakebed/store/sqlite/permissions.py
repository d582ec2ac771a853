"""Who may open the files of a store: nobody who may not open their folder."""

import os
from pathlib import Path


def permissions_beside(path: Path) -> int:
    """The permissions of a new file: at most those of its folder."""
    return 0o666 & os.stat(path.parent).st_mode
