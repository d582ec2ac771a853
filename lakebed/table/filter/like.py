"""Patterns of LIKE: text with wildcards, compared by code points, case included."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from lakebed.errors import Invalid, TooLarge

ESCAPE = "\\"
"""Makes the wildcard after it, or itself, an ordinary character; Spark has the same default."""

LENGTH = 1000
"""The most characters of a pattern: Java's regular expressions, which Spark uses, recurse for each of them."""


class Wildcard(Enum):
    """A character that stands for other text."""

    ONE = "_"  # any character, line breaks included
    ANY = "%"  # any text, the empty one included


@dataclass(frozen=True, slots=True)
class Pattern:
    """Texts and wildcards in order. Patterns that are written differently but match the same are mostly equal."""

    parts: tuple[str | Wildcard, ...]

    def __post_init__(self) -> None:
        size = sum(1 if isinstance(part, Wildcard) else len(part) for part in self.parts)
        if size > LENGTH:
            raise TooLarge("a pattern is too long", expected=f"at most {LENGTH} characters", found=size)
        if not self.text.isascii() and any("\ud800" <= character <= "\udfff" for character in self.text):
            raise Invalid("a pattern has half of a surrogate pair, which no text has", subject=ascii(self.text))

    @property
    def text(self) -> str:
        """The pattern as written with a backslash as the escape."""
        return "".join(part.value if isinstance(part, Wildcard) else escaped(part) for part in self.parts)

    @property
    def prefix(self) -> str:
        """The text that everything that matches begins with."""
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    @property
    def is_exact(self) -> bool:
        """Whether only its prefix matches."""
        return self.parts in ((), (self.prefix,))

    @property
    def is_prefix(self) -> bool:
        """Whether everything that begins with its prefix matches."""
        return self.parts in ((Wildcard.ANY,), (self.prefix, Wildcard.ANY))

    def matches(self, value: str) -> bool:
        """Whether a text matches, in time of at most the product of both lengths."""
        wanted = [*self._characters()]
        at = place = 0
        retry: tuple[int, int] | None = None  # the place after the last ANY, and where the text it stands for ends
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
        return all(rest is Wildcard.ANY for rest in wanted[at:])

    def _characters(self) -> Iterator[str | Wildcard]:
        for part in self.parts:
            yield from (part,) if isinstance(part, Wildcard) else part

    def __str__(self) -> str:
        return self.text


def parse_pattern(text: str, escape: str = ESCAPE) -> Pattern:
    """The pattern that a text means; `Invalid` if the escape stands before anything but a wildcard or itself."""
    if len(escape) != 1:
        raise Invalid("a pattern's escape must be one character", subject=repr(text), found=repr(escape))
    parts: list[str | Wildcard] = []
    for kind, run in groupby(_tokens(text, escape), type):
        tokens = [*run]
        parts += _wildcards(tokens) if kind is Wildcard else ["".join(map(str, tokens))]
    return Pattern(tuple(parts))


def prefix_pattern(prefix: str) -> Pattern:
    """The pattern that matches every text with this prefix."""
    return Pattern((prefix, Wildcard.ANY) if prefix else (Wildcard.ANY,))


def escaped(text: str) -> str:
    """The text as a pattern that only it matches."""
    return "".join(f"{ESCAPE}{character}" if character in (ESCAPE, "%", "_") else character for character in text)


def _tokens(text: str, escape: str) -> Iterator[str | Wildcard]:
    characters = iter(text)
    for character in characters:
        if character == escape:
            yield _escaped(next(characters, ""), text, escape)
        else:
            yield Wildcard(character) if character in ("%", "_") else character


def _escaped(character: str, text: str, escape: str) -> str:
    if character and character in (escape, "%", "_"):
        return character
    raise Invalid(
        "a pattern's escape stands before a character that needs none",
        subject=repr(text),
        expected=f"{escape}%, {escape}_ or {escape}{escape}",
        found=f"{escape}{character}" if character else "the end of the pattern",
    )


def _wildcards(run: list[str | Wildcard]) -> list[Wildcard]:
    """Adjacent wildcards in one order: `%_%` means the same as `_%`."""
    anything = [Wildcard.ANY] if Wildcard.ANY in run else []
    return [Wildcard.ONE] * run.count(Wildcard.ONE) + anything
