"""Patterns of LIKE: text with wildcards, compared by code points and with case."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from lakebed.errors import Invalid, TooLarge

ESCAPE = "\\"
"""What takes a wildcard, or itself, for the character that it is; Spark's too, if none is given."""

LENGTH = 1000
"""The most characters that a pattern may have: Java's regular expressions, which Spark uses, recurse for each."""


class Wildcard(Enum):
    """What stands for other text."""

    ONE = "_"  # any character, a line's end included
    ANY = "%"  # any text, also none


@dataclass(frozen=True, slots=True)
class Pattern:
    """Texts and wildcards in turn. Two patterns that are written differently and match alike are mostly equal."""

    parts: tuple[str | Wildcard, ...]

    def __post_init__(self) -> None:
        size = sum(1 if isinstance(one, Wildcard) else len(one) for one in self.parts)
        if size > LENGTH:
            raise TooLarge("a pattern is too long", expected=f"at most {LENGTH} characters", found=size)
        if not self.text.isascii() and any("\ud800" <= one <= "\udfff" for one in self.text):
            raise Invalid("a pattern has half of a surrogate pair, which no text has", subject=ascii(self.text))

    @property
    def text(self) -> str:
        """The pattern as it is written with a backslash as the escape."""
        return "".join(one.value if isinstance(one, Wildcard) else escaped(one) for one in self.parts)

    @property
    def prefix(self) -> str:
        """What everything that matches begins with."""
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    @property
    def is_exact(self) -> bool:
        """Whether nothing but its prefix matches."""
        return self.parts in ((), (self.prefix,))

    @property
    def is_prefix(self) -> bool:
        """Whether everything that begins with its prefix matches."""
        return self.parts in ((Wildcard.ANY,), (self.prefix, Wildcard.ANY))

    def matches(self, value: str) -> bool:
        """Whether a text matches, in time that grows with the product of both lengths and no more."""
        wanted = [*self._characters()]
        at = place = 0
        retry: tuple[int, int] | None = None  # behind the last ANY, and where the text that it stands for ends
        while place < len(value):
            if at < len(wanted) and wanted[at] is Wildcard.ANY:
                at, retry = at + 1, (at + 1, place)
            elif at < len(wanted) and wanted[at] in (Wildcard.ONE, value[place]):
                at, place = at + 1, place + 1
            elif retry is not None:
                at, place = retry[0], retry[1] + 1
                retry = (at, place)
            else:
                return False
        return all(one is Wildcard.ANY for one in wanted[at:])

    def _characters(self) -> Iterator[str | Wildcard]:
        for one in self.parts:
            yield from (one,) if isinstance(one, Wildcard) else one

    def __str__(self) -> str:
        return self.text


def parse_pattern(text: str, escape: str = ESCAPE) -> Pattern:
    """The pattern that a text means; `Invalid` if the escape stands before anything but a wildcard or itself."""
    if len(escape) != 1:
        raise Invalid("a pattern's escape is one character", subject=repr(text), found=repr(escape))
    parts: list[str | Wildcard] = []
    for kind, run in groupby(_tokens(text, escape), type):
        found = [*run]
        parts += _wildcards(found) if kind is Wildcard else ["".join(map(str, found))]
    return Pattern(tuple(parts))


def prefix_pattern(prefix: str) -> Pattern:
    """The pattern of all that begins so."""
    return Pattern((prefix, Wildcard.ANY) if prefix else (Wildcard.ANY,))


def escaped(text: str) -> str:
    """The text as a pattern that only it matches."""
    return "".join(f"{ESCAPE}{one}" if one in (ESCAPE, "%", "_") else one for one in text)


def _tokens(text: str, escape: str) -> Iterator[str | Wildcard]:
    characters = iter(text)
    for one in characters:
        if one == escape:
            yield _taken(next(characters, ""), text, escape)
        else:
            yield Wildcard(one) if one in ("%", "_") else one


def _taken(character: str, text: str, escape: str) -> str:
    if character and character in (escape, "%", "_"):
        return character
    raise Invalid(
        "a pattern's escape stands before what needs none",
        subject=repr(text),
        expected=f"{escape}%, {escape}_ or {escape}{escape}",
        found=f"{escape}{character}" if character else "its end",
    )


def _wildcards(run: list[str | Wildcard]) -> list[Wildcard]:
    """Wildcards that follow one another, in one order: `%_%` says no more than `_%`."""
    anything = [Wildcard.ANY] if Wildcard.ANY in run else []
    return [Wildcard.ONE] * run.count(Wildcard.ONE) + anything
