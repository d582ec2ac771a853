"""Names of columns: which are legal, when two are the same, and what a column is called in files.

Names are compared without case, as in Spark. Unlike a table's name they may have any printable character, since a
column is never part of a path, a key or a dotted name. In files a column has a plain word for a name: libraries read
meaning into others. Hadoop replaces `${user.name}` in any text that it is given, Parquet's settings split `a.b`, and
older readers refuse blanks.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence

from lakebed.errors import Invalid

NAME_BYTES = 255

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_SPARKS_OWN = "_metadata"  # the column in which Spark shows a row's file
_READABLE = 40
"""How many characters of a name its name in files keeps at most."""


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


def is_plain_name(name: str) -> bool:
    """Whether a name is a plain word, which no library reads anything else into."""
    return _PLAIN.fullmatch(name) is not None and name.lower() != _SPARKS_OWN


def physical_name(name: str, id: int, used: Collection[str] = ()) -> str:
    """What a new column with this id is called in files: its name if that is plain, else `readable_part_<id>`.

    `used` are names, folded, that it can't have: the id is appended until it has none of them.
    """
    if not is_plain_name(name):
        word = _NOT_WORD.sub("_", name).strip("_")[:_READABLE]
        name = f"{word if word[:1].isalpha() else f'c_{word}'.strip('_')}_{id}"
    while folded_column(name) in used:
        name = f"{name}_{id}"
    return name


def physical_names_of(names: Sequence[str], ids: Sequence[int]) -> list[str]:
    """What the columns of a new struct are called in files; plain names stay as they are, and no two are the same."""
    plain = {folded_column(name) for name in names if is_plain_name(name)}
    return [
        name if is_plain_name(name) else physical_name(name, id, plain) for name, id in zip(names, ids, strict=True)
    ]
