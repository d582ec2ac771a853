"""Names: which are legal, and when two are the same.

A name is kept as written after NFC normalisation, and compared by its folded form.
"""

import unicodedata
from enum import IntEnum

from lakebed.errors import Invalid

NAME_BYTES = 255
_REFUSED = "|/@#"
_REFUSED_IN_REFS = "|@#"


class Casing(IntEnum):
    """How a catalog compares names; its number is stored with the catalog."""

    FOLDED = 1  # NFC(casefold(NFD(name)))
    EXACT = 2  # NFC


def normal_name(name: str, *, refused: str = _REFUSED) -> str:
    """The name as it is kept, or `Invalid`.

    Control characters and code points that this Python does not know are refused: the first hide, and the second might
    fold differently in a newer one.
    """
    if not isinstance(name, str):
        raise Invalid("a name is text", expected="str", found=type(name).__name__)
    normal = unicodedata.normalize("NFC", name)
    if normal in ("", ".", ".."):
        raise Invalid("this can't be a name", subject=repr(name), expected="at least one character, not . or .. alone")
    for character in normal:
        if character in refused:
            raise Invalid("a name has a character that is not allowed", subject=repr(name), found=repr(character))
        if unicodedata.category(character) in ("Cc", "Cn", "Cs"):
            raise Invalid(
                "a name has a control or unknown character", subject=repr(name), found=f"U+{ord(character):04X}"
            )
    size = len(normal.encode())
    if size > NAME_BYTES:
        raise Invalid(
            "a name is too long", subject=repr(name[:40] + "…"), expected=f"at most {NAME_BYTES} bytes", found=size
        )
    return normal


def normal_ref_name(name: str) -> str:
    """The same for branches, tags and shares, which may have `/` between parts that are names."""
    normal = normal_name(name, refused=_REFUSED_IN_REFS)
    for part in normal.split("/"):
        if part in ("", ".", ".."):
            raise Invalid("a part of this name is empty or dots", subject=repr(name), expected="parts like feature/x")
    return normal


def folded(name: str, casing: Casing) -> str:
    """The form under which a name, or the beginning of one, is compared and kept in keys."""
    if name.isascii():
        return name if casing is Casing.EXACT else name.lower()
    if casing is Casing.EXACT:
        return unicodedata.normalize("NFC", name)
    # Unicode's canonical caseless match (D145): decomposed first, because else the small iota (U+0345) of a letter
    # moves before its other marks, and ᾷ would not meet its capital.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
