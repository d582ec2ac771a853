"""Reads a statement word by word."""

from dataclasses import dataclass

from lakebed.errors import Invalid
from lakebed.spark.sql.names import LakeName, chain_end, closing, lake_name, moment_behind
from lakebed.spark.sql.operands import Operands
from lakebed.spark.sql.tokens import Kind, Word, Words

QUERY = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
"""The words that a query begins with, besides parentheses."""

_NO_ALIAS = ("SET", "WHERE", "USING", "ON", "WHEN", "FROM", "SELECT", "VALUES", "ORDER", "LIMIT")


@dataclass(slots=True)
class Cursor:
    """A position among a statement's words; `Invalid` points at a word that is not the expected one."""

    words: Words
    position: int = 0

    @property
    def word(self) -> Word | None:
        """The next word, None at the end."""
        return self.words.words[self.position] if self.position < len(self.words.words) else None

    def sees(self, *keywords: str) -> bool:
        """Whether these keywords come next, in this order."""
        return all(
            self.position + number < len(self.words.words) and self.words.words[self.position + number].reads(keyword)
            for number, keyword in enumerate(keywords)
        )

    def sees_one(self, *keywords: str) -> bool:
        """Whether one of these keywords comes next."""
        return self.word is not None and self.word.reads(*keywords)

    def take(self, *keywords: str) -> bool:
        """Skip these keywords if they come next."""
        if not self.sees(*keywords):
            return False
        self.position += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        """Skip these keywords, which have to come next."""
        for keyword in keywords:
            if not self.take(keyword):
                raise self.refused("this statement can't be read", expected=keyword)

    def end(self, expected: str = "the end") -> None:
        """Refuse any further word."""
        if self.word is not None:
            raise self.refused("this statement can't be read", expected=expected)

    def refused(self, problem: str, *, expected: object = None, advice: str = "") -> Invalid:
        """An error that points at the next word."""
        return self.words.refused(problem, self.word, expected=expected, advice=advice)

    def name(self, expected: str = "a table such as sales.orders") -> LakeName:
        """The name of an object of the lake."""
        parts, start = self.chain(expected), self.position
        found = lake_name(self.words, start - (2 * len(parts) - 1), start)
        if found is None:
            word = self.words.words[start - 1]
            advice = "Write a table outside of any namespace with its ref: orders@main."
            raise self.words.refused(
                "this is not the name of a table in the lake", word, expected="namespace.table", advice=advice
            )
        moment, _ = moment_behind(self.words, self.position)
        if moment is not None:
            raise self.refused("the past can't be changed", expected="a table without a version or time")
        return found

    def chain(self, expected: str) -> tuple[str, ...]:
        """The parts of a dotted name."""
        if self.word is None or not self.word.names:
            raise self.refused("this statement can't be read", expected=expected)
        start, self.position = self.position, chain_end(self.words, self.position)
        return tuple(word.text for word in self.words.words[start : self.position : 2])

    def alias(self) -> str | None:
        """The alias of a table, if there is one."""
        if self.take("AS") or (self.word is not None and self.word.names and not self.word.reads(*_NO_ALIAS)):
            (own,) = self._single("a name")
            return own
        return None

    def column(self, expected: str = "a column") -> str:
        """The name of one column."""
        (own,) = self._single(expected)
        return own

    def _single(self, expected: str) -> tuple[str, ...]:
        word, parts = self.word, self.chain(expected)
        if len(parts) != 1:
            raise self.words.refused("this is more than a name", word, expected=expected)
        return parts

    def string(self, expected: str = "a text") -> str:
        """A text."""
        word = self.word
        if word is None or word.kind is not Kind.STRING:
            raise self.refused("this statement can't be read", expected=expected)
        self.position += 1
        return word.text

    def inside(self) -> "Cursor":
        """The content of the parentheses that come next; skips them."""
        if not self.sees("("):
            raise self.refused("this statement can't be read", expected="(")
        last = closing(self.words, self.position)
        inner, self.position = self.words.part(self.position + 1, last), last + 1
        return Cursor(inner)

    def until(self, *stops: str) -> Words:
        """The words before one of these keywords, or all; keywords in parentheses and in CASE … END don't count.

        A stop of several words, `NOT NULL`, counts where all of them come. If Spark has read the statement, a clause
        begins only where it says so; else the rules of `Operands` say where.
        """
        start, follow = self.position, Operands()
        while self.word is not None:
            if self._sees_stop(stops) and self._may_stop(self.word, follow):
                break
            ahead = self.words.words[self.position + 1 : self.position + 2]
            follow.take(self.word, ahead[0] if ahead else self.words.after)
            self.position += 1
        return self.words.part(start, self.position)

    def _sees_stop(self, stops: tuple[str, ...]) -> bool:
        return any(self.sees(*stop.split()) for stop in stops)

    def _may_stop(self, word: Word, follow: Operands) -> bool:
        if self.words.marks is not None:
            return follow.brackets == 0 and word.start in self.words.marks
        return follow.is_outside and (not follow.awaits or word.reads(","))

    def items(self) -> list["Cursor"]:
        """The remaining words, split at commas."""
        found = []
        while self.word is not None:
            found.append(Cursor(self.until(",")))
            if self.take(",") and self.word is None:
                raise self.refused("this statement can't be read", expected="more after the comma")
        return found

    def rest(self, expected: str) -> Words:
        """The remaining words, at least one."""
        if self.word is None:
            raise self.refused("this statement can't be read", expected=expected)
        start, self.position = self.position, len(self.words.words)
        return self.words.part(start, self.position)
