"""Addresses as they are typed: `sales.orders@dev#17`, a ref, a moment."""

import re
from dataclasses import dataclass

from lakebed.errors import Invalid

_NAME = re.compile(r"(?:`[^`]+`|[^`@#])+")
_PART = re.compile(r"`([^`]+)`|([^.`]+)")
_NUMBER = re.compile(r"-?[0-9]{1,40}")
"""Of a version: more digits are not read as a number, but refused as a moment."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An object by its name, with the ref that follows `@` and the moment that follows `#`."""

    name: tuple[str, ...]
    ref: str | None = None
    moment: str | None = None


def parse_typed(text: str) -> Typed:
    """The address of an object; a part that has a dot, `@` or `#` is put in backticks."""
    found = _NAME.match(text)
    if found is None:
        raise Invalid("this is not a name", subject=repr(text), expected="such as sales.orders or sales.orders@dev#17")
    rest, pinned, moment = text[found.end() :].partition("#")
    if (rest and len(rest) == 1) or (pinned and not moment):
        raise Invalid("nothing follows this sign", subject=repr(text), expected="such as sales.orders@dev#17")
    return Typed(_parts(found[0]), rest.removeprefix("@") or None, moment or None)


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(quoted or bare for quoted, bare in _PART.findall(text))
    if _PART.sub("", text) != "." * (len(parts) - 1):
        raise Invalid("a part of this name is empty", subject=repr(text), expected="parts such as sales.orders")
    return parts


def parse_moment(text: str) -> int | str:
    """A version's number, or how many commits before the newest, or a time."""
    return int(text) if _NUMBER.fullmatch(text.strip()) else text


def spelled_name(name: str | tuple[str, ...]) -> str:
    """A name as it is typed."""
    parts = tuple(name.split(".")) if isinstance(name, str) else name
    return ".".join(f"`{part}`" if set(part) & set(".@#") else part for part in parts)
