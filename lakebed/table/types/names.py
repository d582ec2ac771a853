"""Names of columns: which are legal, and when two are the same.

Columns are compared without case, as Spark does. Unlike the names of tables they may hold any printable character: a
column is never part of a path, a key or a dotted name.
"""

import unicodedata
from collections.abc import Sequence

from lakebed.errors import Invalid

NAME_BYTES = 255


def folded_column(name: str) -> str:
    """The form in which two columns' names are compared: Unicode's canonical caseless match."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def check_column_names(names: Sequence[str]) -> None:
    """Refuse names that are illegal or that stand twice in one struct."""
    seen: dict[str, str] = {}
    for name in names:
        _check(name)
        folded = folded_column(name)
        if folded in seen:
            found = f"{seen[folded]!r} too, compared without case"
            raise Invalid("two columns have one name", subject=repr(name), found=found)
        seen[folded] = name


def _check(name: str) -> None:
    if not isinstance(name, str):
        raise Invalid("a column's name is text", expected="str", found=type(name).__name__)
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
