"""A text of SQL as words with their places: statements are cut from it, and never written again."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.types.limits import check_statement

_BLOCK = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINE_GOES_ON = re.compile(r"--[^\n]*\\\r?\n")
_PLAIN = re.compile(r"\w*[^\W\d]\w*")


class Kind(Enum):
    """What a word is."""

    PLAIN = "a keyword or a name"
    QUOTED = "a name in backticks"
    STRING = "a text"
    NUMBER = "a number"
    SIGN = "anything else"


_KINDS = {"IDENTIFIER": Kind.QUOTED, "STRING": Kind.STRING, "RAW_STRING": Kind.STRING, "NUMBER": Kind.NUMBER}
"""The kinds of words by sqlglot's types of tokens."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place; `text` is what it means: without quotes, and all of `items@dev`.

    `tokens` are sqlglot's. If several words share one token, the first has it.
    """

    kind: Kind
    text: str
    start: int
    end: int
    tokens: tuple[Any, ...]

    @property
    def names(self) -> bool:
        """Whether it can be a name."""
        return self.kind in (Kind.PLAIN, Kind.QUOTED)

    def reads(self, *keywords: str) -> bool:
        """Whether it is one of these keywords or signs, given in capitals."""
        return self.kind in (Kind.PLAIN, Kind.SIGN) and self.text.upper() in keywords


def _unknown_columns(_: object) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one statement in its text."""

    text: str
    words: tuple[Word, ...]
    after: Word | None = None
    """The word behind the last, if these words are a part of more."""
    namespace: tuple[str, ...] | None = None
    """The session's namespace, which a name of one part is looked for in; None if it is Spark's."""
    catalogs: Mapping[str, str | None] = field(default_factory=dict)
    """First parts of names that are catalogs, casefolded, and what opens them; None for the statement's own."""
    databases: frozenset[str] = frozenset()
    """First parts of names of two parts that are databases of Spark's, casefolded, though catalogs are called so."""
    columns: Callable[[Any], frozenset[str]] = _unknown_columns
    """The columns of the table that a statement changes, by its `LakeName`, folded; none if nobody knows them."""
    marks: frozenset[int] | None = None
    """Where the words of the statement itself begin, outside of names, expressions and queries; None if unknown."""
    stuck: int | None = None
    """Where Spark could not read on; None if it could, or was not asked."""

    def part(self, begin: int, end: int) -> "Words":
        """A range of the words, by their numbers, in the same text."""
        after = self.words[end] if end < len(self.words) else self.after
        return replace(self, words=self.words[begin:end], after=after)

    @property
    def start(self) -> int:
        return self.words[0].start if self.words else len(self.text)

    @property
    def end(self) -> int:
        return self.words[-1].end if self.words else len(self.text)

    @property
    def own_text(self) -> str:
        """The text from the first word to the last."""
        return self.text[self.start : self.end]

    def only(self) -> str:
        """The text with blanks before these words and nothing behind, so that every word stays in its place."""
        before = re.sub(r"[^\n]", " ", self.text[: self.start])
        return before + self.own_text

    def place_of(self, word: Word) -> str:
        """The line and column of a word."""
        return place(self.text, word.start)

    def refused(self, problem: str, at: Word | None, *, expected: object = None, advice: str = "") -> Invalid:
        """An error that points at a word, or at the word behind the last."""
        return refused(self.text, problem, at or self.after, expected=expected, advice=advice)


class Filled(str):
    """A text with values for its parameters; `given` is the text before, which errors point into."""

    given: str
    edits: Sequence[tuple[int, int, str]]

    def __new__(cls, given: str, edits: Sequence[tuple[int, int, str]]) -> "Filled":
        """Replace pieces of a text; each edit has the piece's start and end, and what replaces it."""
        pieces, position = [], 0
        for start, end, text in edits:
            pieces += [given[position:start], text]
            position = end
        made = super().__new__(cls, "".join([*pieces, given[position:]]))
        made.given, made.edits = given, edits
        return made

    def given_index(self, index: int) -> int:
        """Where an index of this text is in the given one."""
        moved = 0
        for start, end, text in self.edits:
            if index < start + moved:
                break
            if index < start + moved + len(text):
                return start
            moved += len(text) - (end - start)
        return index - moved


def place(text: str, index: int) -> str:
    """The line and column of an index in a text."""
    if isinstance(text, Filled):
        return place(text.given, text.given_index(index))
    line = text.count("\n", 0, index) + 1
    return f"line {line}, column {index - (text.rfind(chr(10), 0, index) + 1) + 1}"


def refused(text: str, problem: str, at: Word | None, *, expected: object = None, advice: str = "") -> Invalid:
    """An error that points at a word, or at the end of the text."""
    index = len(text.rstrip()) if at is None else at.start
    found = "the end" if at is None else repr(text[at.start : at.end][:80])
    return Invalid(problem, subject=place(text, index), expected=expected, found=found, advice=advice)


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def words_of(text: str, namespace: tuple[str, ...] | None = None) -> Words:
    """The words of the one statement in a text; a semicolon at its end is left out."""
    found = statements_of(text)
    if len(found) > 1:
        raise found[1].refused("there is more than one statement", found[1].words[0], expected="one statement")
    return replace(found[0], namespace=namespace)


def statements_of(text: str) -> list[Words]:
    """The words of each statement in a text, at least one; the semicolons between them are left out."""
    words = _with_refs(text, tokens_of(text))
    found, begin = [], 0
    for number, word in enumerate(words):
        if word.reads(";"):
            found.append(Words(text, tuple(words[begin:number])))
            begin = number + 1
    statements = [part for part in (*found, Words(text, tuple(words[begin:]))) if part.words]
    if not statements:
        raise Invalid("there is no statement", expected="SQL", found=repr(text[:80]))
    return statements


def tokens_of(text: str) -> list[Word]:
    """The words of a text; a ref is not yet a part of its name."""
    from sqlglot.dialects.spark import Spark  # here, since it takes over 100 ms to import
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str):
        raise Invalid("SQL is text", expected="str", found=type(text).__name__)
    check_statement(text)
    try:
        tokens = _tokens(Spark(), text)
    except SqlglotError as error:
        raise Invalid(
            "this can't be read", subject=str(error).partition("\n")[0][:120], found="a quote without end"
        ) from error
    _check_comments(text, tokens)
    words = list(_split(text, _grouped(tokens)))
    return list(_joined(words, _continues, partial(_one_string, text)))


def _check_comments(text: str, tokens: Sequence[Any]) -> None:
    """Refuse a comment whose line ends with a backslash: only Spark takes the next line as part of it."""
    starts = [0, *(token.end + 1 for token in tokens)]
    for start, end in zip(starts, [*(token.start for token in tokens), len(text)], strict=True):
        found = _LINE_GOES_ON.search(_BLOCK.sub(lambda block: " " * len(block[0]), text[start:end]))
        if found:
            raise Invalid(
                "a comment ends with a backslash, and would continue on the next line",
                subject=place(text, start + found.start()),
                advice="Put a blank after the backslash.",
            )


_COMMANDS = ("COMMAND", "EXECUTE", "FETCH", "SHOW", "RENAME", "DESCRIBE")


def _tokens(dialect: Any, text: str) -> list[Any]:
    """The tokens of a text; sqlglot leaves a command that it does not know as one token, which is split here."""
    tokens: list[Any] = dialect.tokenize(text)
    for number, token in enumerate(tokens[:-1]):
        begins = number == 0 or tokens[number - 1].token_type.name == "SEMICOLON"
        if begins and token.token_type.name in _COMMANDS:
            blank = re.sub(r"[^\n]", " ", text[: token.end + 1])
            return [*tokens[: number + 1], *_tokens(dialect, blank + text[token.end + 1 :])]
    return tokens


def _grouped(tokens: Sequence[Any]) -> Iterator[list[Any]]:
    """Tokens by their places: sqlglot makes three of 10L."""
    group: list[Any] = []
    for token in tokens:
        if group and token.start == group[-1].start:
            group.append(token)
            continue
        if group:
            yield group
        group = [token]
    if group:
        yield group


def _split(text: str, groups: Iterator[list[Any]]) -> Iterator[Word]:
    """The words of tokens: `GROUP BY` is one token of sqlglot's, but two words."""
    for group in groups:
        token = group[0]
        raw, kind = text[token.start : token.end + 1], _KINDS.get(token.token_type.name)
        parts = list(re.finditer(r"\S+", raw))
        if kind is None and all(_PLAIN.fullmatch(part[0]) for part in parts):
            for number, part in enumerate(parts):
                start = token.start + part.start()
                yield Word(Kind.PLAIN, part[0], start, start + len(part[0]), () if number else tuple(group))
        else:
            yield Word(kind or Kind.SIGN, token.text, token.start, token.end + 1, tuple(group))


def _joined(
    words: list[Word], continues: Callable[[Word, Word], bool], join: Callable[[Word, Word], Word]
) -> Iterator[Word]:
    """The words, where each one that continues the last is joined to it."""
    last = None
    for word in words:
        if last is not None and continues(last, word):
            last = join(last, word)
            continue
        if last is not None:
            yield last
        last = word
    if last is not None:
        yield last


def _continues(last: Word, word: Word) -> bool:
    return last.kind is word.kind is Kind.STRING and last.end == word.start


def _one_string(text: str, last: Word, word: Word) -> Word:
    """The one text of 'it''s', which sqlglot reads as two; in different quotes, two texts join without a quote."""
    quote = text[word.end - 1]
    return _merged(last, word, f"{last.text}{quote if text[last.end - 1] == quote else ''}{word.text}")


def _merged(first: Word, last: Word, text: str) -> Word:
    token = first.tokens[0]
    whole = type(token)(token.token_type, text, token.line, token.col, first.start, last.end - 1)
    return replace(first, text=text, end=last.end, tokens=(whole,))


def _with_refs(text: str, words: list[Word]) -> list[Word]:
    """The words with `items@dev` as one word: sqlglot takes the ref for an alias, and the trunk would be read."""
    found: list[Word] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word.kind is Kind.SIGN and word.text == "@":
            found[-1:] = [_named_ref(text, found, words, position)]
            position += 2
            continue
        found.append(word)
        position += 1
    return found


def _named_ref(text: str, before: list[Word], words: list[Word], position: int) -> Word:
    sign = words[position]
    ref = words[position + 1] if position + 1 < len(words) else None
    behind = words[position + 2] if position + 2 < len(words) else None
    if not before or not before[-1].names or before[-1].end != sign.start or ref is None or ref.start != sign.end:
        raise refused(text, "a ref stands directly behind a name", sign, expected="such as sales.items@dev")
    cut = behind is not None and behind.start == ref.end and (behind.names or behind.reads("-", "/", "@", "#", ":"))
    if cut or not (ref.names or ref.kind is Kind.NUMBER):
        raise refused(
            text, "this ref is not a plain word", ref, expected="a word", advice="Put it in backticks: sales.items@`…`."
        )
    own = before[-1]
    name = own if own.tokens else replace(own, tokens=ref.tokens)
    return _merged(name, ref, f"{own.text}@{ref.text}")
