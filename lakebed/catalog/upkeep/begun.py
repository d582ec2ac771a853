"""A backup that was begun: what tells its folder from a lake. Every opening looks, so this loads nothing else."""

import os
from typing import Final

from lakebed.errors import Invalid

DATABASE: Final = "catalog.db"
MARK: Final = "backup.json"


def check_finished(folder: str) -> None:
    """Refuse a folder in which a backup was begun and not finished: it is not a lake yet."""
    if os.path.exists(f"{folder}/{MARK}") and not os.path.exists(f"{folder}/{DATABASE}"):
        raise Invalid(
            "this is a backup that was not finished",
            subject=folder,
            advice="Call backup on the lake again with this path: it goes on where it stopped.",
        )
