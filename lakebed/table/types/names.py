"""Names of columns: which are legal, and when two are the same.

Names are compared without case, as in Spark. Unlike a table's name they may have any printable character, since a
column is never part of a path, a key or a dotted name.
"""

import unicodedata
from collections.abc import Sequence

from lakebed.errors import Invalid

NAME_BYTES = 255


def folded_column(name: str) -> str:
    """A column's name in the form that is compared: Unicode's canonical caseless match."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def check_column_names(names: Sequence[str]) -> None:
    """Refuse illegal names, and the same name twice in one struct."""
    seen: dict[str, str] = {}
    for name in names:
        _check_column_name(name)
        folded = folded_column(name)
        if folded in seen:
            found = f"{seen[folded]!r} too; names are compared without case"
            raise Invalid("two columns have the same name", subject=repr(name), found=found)
        seen[folded] = name


def _check_column_name(name: str) -> None:
    if not isinstance(name, str):
        raise Invalid("a column's name must be text", expected="str", found=type(name).__name__)
    size = len(name.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= NAME_BYTES:
        expected = f"1 to {NAME_BYTES} bytes"
        raise Invalid("a column's name is empty or too long", subject=repr(name[:40]), expected=expected, found=size)
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cn", "Cs"):
            raise Invalid(
                "a column's name has a control or unknown character",
                subject=repr(name),
                found=f"U+{ord(character):04X}",
            )
