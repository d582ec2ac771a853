"""Where a table's folder may be: anywhere in the lake but in the catalog's own files and in other tables' folders."""

from typing import Final
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.files.paths import PATH_BYTES, check_path

CATALOG: Final = "catalog"
"""How the names of the catalog's own files begin, up to a dot: the database, and what SQLite puts beside it."""

OWN: Final = ("backup.json",)
"""Other files of a lake's own."""

ROOM: Final = 200
"""Bytes of a path that are left for the table's folder, and for the files in it."""


def check_location(parent: str) -> None:
    """Refuse a folder that a table's folder can't be made in, or that comes and goes with another table."""
    if not isinstance(parent, str):
        raise Invalid("a location is text", expected="a folder of the lake", found=type(parent).__name__)
    check_path(parent)
    first, *_ = parts = parent.split("/")
    if first.casefold() in OWN or first.casefold().startswith(f"{CATALOG}."):
        raise _refused(parent, "a folder beside the catalog's own files", first)
    if (inside := next(filter(is_table_folder, parts), None)) is not None:
        raise _refused(parent, "a folder outside of the folders of tables, whose files come and go with them", inside)
    if (size := len(parent.encode())) > PATH_BYTES - ROOM:
        raise _refused(f"{parent[:80]}…", f"at most {PATH_BYTES - ROOM} bytes, so that files fit in it", size)


def is_table_folder(name: str) -> bool:
    """Whether a folder is that of a table: its name is the table's id."""
    try:
        return str(UUID(name)) == name.lower()
    except ValueError:
        return False


def _refused(parent: str, expected: str, found: object) -> Invalid:
    return Invalid("a table can't be there", subject=parent, expected=expected, found=found)
