"""Names of the lake's tables in a query of DuckDB's SQL, with the ref and the moment that they are read at.

    name   = sales.items | sales.items@dev | other@main.sales.items
    moment = [FOR] (VERSION | SYSTEM_VERSION) AS OF (17 | 'tag') | [FOR] (TIMESTAMP | SYSTEM_TIME) AS OF time
             | AT (VERSION => 17) | AT (TIMESTAMP => time)

A time is text in ISO 8601, `TIMESTAMP '…'`, or an expression in parentheses, which DuckDB evaluates. DuckDB knows
neither refs nor moments: such names are replaced in the text, which otherwise stays as it is.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from lakebed.errors import Invalid
from lakebed.table.types.limits import check_statement

_WORD = re.compile(r"[^\W\d]\w*")
_EXPLAIN = re.compile(r"\A(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN(?:\s+ANALYZE)?\b", re.IGNORECASE | re.DOTALL)
_VERSIONS = ("VERSION", "SYSTEM_VERSION")
_TIMES = ("TIMESTAMP", "SYSTEM_TIME")
_TYPED = ("TIMESTAMP", "TIMESTAMPTZ", "DATE")
_BEFORE_NAMES = ("FROM", "JOIN", "SELECT", "WHERE", "ON")
"""Words that stand before a name, which may be `version`."""
_BEFORE_TABLES = ("FROM", "JOIN", ",", "(", "DESCRIBE", "SUMMARIZE", "PIVOT", "UNPIVOT", "TABLE")


class Kind(Enum):
    """What a token is."""

    WORD = "a name or a keyword"
    QUOTED = "a name in double quotes"
    TEXT = "text in single quotes"
    NUMBER = "a number"
    OTHER = "anything else"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text, from `start` up to `end`; its own text is without quotes."""

    text: str
    kind: Kind
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return self.kind in (Kind.WORD, Kind.QUOTED)


@dataclass(frozen=True, slots=True)
class Moment:
    """What a name is read at: a version's number or a tag, a time as text, or an expression that DuckDB evaluates."""

    version: str | None = None
    time: str | None = None
    expression: str | None = None

    def __str__(self) -> str:
        return f" at {self.version or self.time or self.expression}"


@dataclass(frozen=True, slots=True)
class QueryName:
    """A name in a text.

    `place` opens its catalog: `@dev` is a ref of the query's own, None that catalog itself.
    """

    parts: tuple[str, ...]
    place: str | None = None
    moment: Moment | None = None
    start: int = 0
    ends: tuple[int, ...] = ()
    """Where each part ends, the last one with its moment."""
    is_read: bool = True
    """Whether it stands where a table does."""

    @property
    def end(self) -> int:
        return self.ends[-1]

    def first(self, count: int) -> "QueryName":
        """The name of its first parts."""
        return replace(self, parts=self.parts[:count], ends=self.ends[:count])

    def inside(self, catalog: str | None) -> "QueryName":
        """The name without its first part, in this catalog; None is the query's own."""
        place = self.place if catalog is None else f"{catalog}{self.place or '@main'}"
        return replace(self, parts=self.parts[1:], ends=self.ends[1:], place=place)

    @property
    def spelled(self) -> str:
        """The name as a message shows it."""
        own = ".".join(self.parts)
        if self.place is None or self.place.startswith("@"):
            return f"{own}{self.place or ''}"
        return f"{self.place}.{own}"

    @property
    def schema(self) -> str:
        """What DuckDB calls the namespace at this ref and moment."""
        return f"{'.'.join(self.parts[:-1])}{self.place or ''}{self.moment or ''}"

    @property
    def shown(self) -> tuple[str, ...]:
        """The name of DuckDB's view for it."""
        return (self.schema, self.parts[-1]) if self.schema else self.parts

    @property
    def is_plain(self) -> bool:
        """Whether DuckDB can read the name as it is."""
        return self.place is None and self.moment is None and len(self.parts) < 3


def query_names(text: str) -> list[QueryName]:
    """All names of a text that may be a table's: those with dots, refs or moments, and words where a table may stand.

    Columns are among them: `o.id` could be a table.
    """
    return list(_Reading(text, _tokens(text)).names())


def replaced(text: str, names: Sequence[QueryName], shown: Callable[[QueryName], str]) -> str:
    """The text with other words for some names; all else stays."""
    pieces, end = [], 0
    for name in names:
        pieces += [text[end : name.start], shown(name)]
        end = name.end
    return "".join([*pieces, text[end:]])


def quoted(name: str) -> str:
    """A name in double quotes."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _tokens(text: str) -> list[Token]:
    from sqlglot.dialects.duckdb import DuckDB  # here, since it takes over 100 ms to import
    from sqlglot.errors import SqlglotError

    check_statement(text)
    try:
        # sqlglot reads what follows EXPLAIN as one text.
        found = DuckDB().tokenize(_EXPLAIN.sub(lambda match: " " * len(match.group()), text))
    except SqlglotError as error:
        raise Invalid("this is not SQL", found=str(error).splitlines()[0]) from error
    return [
        Token(token.text, _kind(token.token_type.name, text[token.start : token.end + 1]), token.start, token.end + 1)
        for token in found
    ]


def _kind(type: str, written: str) -> Kind:
    if type == "IDENTIFIER":
        return Kind.QUOTED
    if type in ("STRING", "HEREDOC_STRING"):
        return Kind.TEXT
    if type == "NUMBER":
        return Kind.NUMBER
    return Kind.WORD if _WORD.fullmatch(written) else Kind.OTHER


@dataclass(slots=True)
class _Reading:
    """Reads names from tokens; `at` is the next one."""

    text: str
    tokens: list[Token]
    at: int = 0

    def names(self) -> Iterator[QueryName]:
        while self.at < len(self.tokens):
            if not self._is_name(self.at):
                self.at += 1
                continue
            may_be_table = self.at > 0 and self._reads(self.at - 1, *_BEFORE_TABLES)
            name = self._name()
            if may_be_table or len(name.parts) > 1 or not name.is_plain:
                yield replace(name, is_read=may_be_table)

    def _name(self) -> QueryName:
        first = self.tokens[self.at]
        parts, ends = [self._part()], [self._end()]
        while self._reads(self.at, ".") and self._is_name(self.at + 1):
            self.at += 1
            parts.append(self._part())
            ends.append(self._end())
        place = None
        if len(parts) > 1 and "@" in parts[0]:
            place, parts, ends = parts[0], parts[1:], ends[1:]
        elif "@" in parts[-1]:
            own, _, ref = parts[-1].partition("@")
            place, parts = f"@{ref}", [*parts[:-1], own]
        moment = None if first.text.upper() in _BEFORE_NAMES else self._moment()
        return QueryName(tuple(parts), place, moment, first.start, (*ends[:-1], self._end()))

    def _end(self) -> int:
        """Where the last token that was read ends."""
        return self.tokens[self.at - 1].end

    def _part(self) -> str:
        """A word, and the ref that follows it without a blank."""
        word = self.tokens[self.at].text
        self.at += 1
        if self._reads(self.at, "@") and self._is_name(self.at + 1) and self._touches(self.at, self.at + 1):
            word = f"{word}@{self.tokens[self.at + 1].text}"
            self.at += 2
        return word

    def _moment(self) -> Moment | None:
        start = self.at
        if (
            self._reads(start, "CHANGES")
            and self._reads(start + 1, "FROM")
            and self._reads(start + 2, *_VERSIONS, *_TIMES)
        ):
            raise Invalid(
                "a query without Spark has no CHANGES clause",
                subject=self._place(self.tokens[start]),
                advice="Register table.changes(since).to_arrow() with DuckDB, or use lake.sql(…).",
            )
        at = start + 1 if self._reads(start, "FOR") else start
        if self._reads(at, *_VERSIONS, *_TIMES) and self._reads(at + 1, "AS") and self._reads(at + 2, "OF"):
            self.at = at + 3
            return self._value(self._reads(at, *_VERSIONS))
        if self._reads(start, "AT") and self._reads(start + 1, "(") and self._reads(start + 3, "=>"):
            self.at = start + 4
            moment = self._value(self._reads(start + 2, "VERSION"))
            self.at += 1
            return moment
        return None

    def _value(self, is_version: bool) -> Moment:
        """The version or time at the next token."""
        if not is_version and self._reads(self.at, *_TYPED):
            self.at += 1
        if self.at >= len(self.tokens):
            raise Invalid("a moment is missing", expected="VERSION AS OF 17, or TIMESTAMP AS OF '2026-01-31 10:00'")
        token = self.tokens[self.at]
        if token.text == "(" and not is_version:
            return Moment(expression=self._enclosed())
        allowed = (Kind.TEXT, Kind.NUMBER) if is_version else (Kind.TEXT,)
        if token.kind not in allowed:
            expected = "a version's number, or a tag in quotes" if is_version else "a time in quotes, or in parentheses"
            raise Invalid("this is not a moment", subject=self._place(token), expected=expected, found=token.text)
        self.at += 1
        return Moment(version=token.text) if is_version else Moment(time=token.text)

    def _enclosed(self) -> str:
        """The expression in the parentheses that begin here."""
        start, depth = self.tokens[self.at].start, 0
        while self.at < len(self.tokens):
            depth += self._reads(self.at, "(") - self._reads(self.at, ")")
            self.at += 1
            if not depth:
                return self.text[start : self._end()]
        raise Invalid("a parenthesis is not closed", subject=self._place(self.tokens[-1]))

    def _is_name(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].is_name

    def _reads(self, at: int, *words: str) -> bool:
        """Whether the token is one of these words or signs."""
        if at >= len(self.tokens) or self.tokens[at].kind in (Kind.QUOTED, Kind.TEXT):
            return False
        return self.tokens[at].text.upper() in words

    def _touches(self, first: int, second: int) -> bool:
        before, token, after = self.tokens[first - 1], self.tokens[first], self.tokens[second]
        return before.end == token.start and token.end == after.start

    def _place(self, token: Token) -> str:
        line = self.text.count("\n", 0, token.start) + 1
        return f"line {line}, column {token.start - self.text.rfind(chr(10), 0, token.start)}"
