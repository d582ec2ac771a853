"""Names: which are valid, and when two are equal.

A name is stored as written, after NFC normalisation, and compared by its folded form.
"""

import unicodedata
from enum import IntEnum

from lakebed.errors import Invalid

NAME_BYTES = 255
_REFUSED = "|/@#"
_REFUSED_IN_REFS = "|@#"


class Casing(IntEnum):
    """How a catalog compares names; the number is stored with the catalog."""

    FOLDED = 1  # NFC(casefold(NFD(name)))
    EXACT = 2  # NFC


def normal_name(name: str, *, refused: str = _REFUSED) -> str:
    """The name as it is stored, or `Invalid`.

    Control characters are refused because they are invisible. Code points that this Python does not know are refused
    because a newer Python might fold them differently.
    """
    if not isinstance(name, str):
        raise Invalid("a name has to be text", expected="str", found=type(name).__name__)
    normal = unicodedata.normalize("NFC", name)
    if normal in ("", ".", ".."):
        raise Invalid("this can't be a name", subject=repr(name), expected="at least one character, not just . or ..")
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
    """As `normal_name`, for branches, tags and shares, whose names may have `/` between parts."""
    normal = normal_name(name, refused=_REFUSED_IN_REFS)
    for part in normal.split("/"):
        if part in ("", ".", ".."):
            raise Invalid("a part of this name is empty, . or ..", subject=repr(name), expected="parts like feature/x")
    return normal


def folded(name: str, casing: Casing) -> str:
    """The form in which a name, or the start of one, is compared and stored in keys."""
    if name.isascii():
        return name if casing is Casing.EXACT else name.lower()
    if casing is Casing.EXACT:
        return unicodedata.normalize("NFC", name)
    # Unicode's canonical caseless match (D145). Decomposed first: otherwise the small iota (U+0345) of a letter moves
    # before its other marks, and ᾷ would not match its capital.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
