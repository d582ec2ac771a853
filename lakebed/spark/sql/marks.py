"""Where Spark's own parser cuts a statement; this module and `reading.py` reach into Spark's JVM, and no other does.

Spark's tree of a statement is asked for once, as text. Its words then fall into place by themselves: texts and quoted
names are masked first, with what is the lake's own (`items@dev`), so that no word has a blank or a parenthesis in it.
A session of Spark Connect has no JVM, and a statement of ours is not Spark's: the rules of `Operands` cut these.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped]  # it has no types
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

from lakebed.errors import TooLarge
from lakebed.spark.session import is_remote
from lakebed.spark.sql.tokens import Kind, Word, Words
from lakebed.table.sql.tree import short

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLOSED = frozenset(
    (
        *("query", "expression", "booleanExpression", "dataType", "transform", "propertyKeyOrStringLit"),
        *("identifierReference", "multipartIdentifier", "errorCapturingIdentifier", "identifier", "strictIdentifier"),
        *("qualifiedName", "propertyKey", "propertyValue", "stringLit", "constant"),
    )
)
"""Rules of Spark's grammar whose words are not the statement's own."""

_VISIBLE = re.compile(r"\S")
_QUOTES = "'\"`"


def with_marks(spark: "SparkSession", words: Words) -> Words:
    """The words of a statement, with the places where clauses begin if Spark reads it, else where it got stuck."""
    if is_remote(spark) or not has_parser(spark):
        return words
    text = masked(words)
    tree = spark_tree(spark, text)
    if tree is not None:
        return replace(words, marks=frozenset(_own_words(placed_words(text, tree))))
    return replace(words, stuck=stuck_at(spark, text))


def has_parser(spark: "SparkSession") -> bool:
    """Whether this Spark has its parser where 4.0 to 4.3 have it; a name that is not a class is a package to Py4J."""
    session: Any = spark
    java = _java(session._jvm)
    return not any(isinstance(getattr(java, name), JavaPackage) for name in ("text", "lexer", "parser"))


def masked(words: Words) -> str:
    """The statement with blanks for comments, and letters for what is quoted or has a ref; no word moves."""
    pieces, position = [], 0
    for word in words.words:
        pieces += [" " * (word.start - position), _masked_word(words.text[word.start : word.end], word)]
        position = word.end
    return "".join(pieces)


def _masked_word(text: str, word: Word) -> str:
    if word.names and "@" in text:
        return "q" * len(text)
    if word.kind not in (Kind.STRING, Kind.QUOTED) and not any(quote in text for quote in _QUOTES):
        return text if not text.startswith("/*") else " " * len(text)
    first = min(text.index(quote) for quote in _QUOTES if quote in text)
    return text[: first + 1] + "q" * (len(text) - first - 2) + text[-1]


def spark_tree(spark: "SparkSession", text: str) -> str | None:
    """Spark's tree of a statement as text, `(rule child (rule child))`; None if Spark can't read it.

    `TooLarge` if it is so deep that Java's stack ends: a chain of 10,000 ORs is.
    """
    parser = parser_of(spark, text)
    try:
        tree = parser.singleStatement()
        return None if parser.getNumberOfSyntaxErrors() else str(tree.toStringTree(parser))
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.lang.StackOverflowError":
            raise
        advice = "Use IN for many values, or join them as rows."
        raise TooLarge("SQL is nested too deeply for Spark's parser", subject=short(text), advice=advice) from error


def stuck_at(spark: "SparkSession", text: str) -> int | None:
    """Where the word begins that Spark can't read; None if it does not say."""
    session: Any = spark
    parser = parser_of(spark, text)
    parser.setErrorHandler(_java(session._jvm).stops())
    try:
        parser.singleStatement()
    except Py4JJavaError as error:
        found = error.java_exception.getCause()
        token = None if found is None else found.getOffendingToken()
        return None if token is None else int(token.getStartIndex())
    return None


def parser_of(spark: "SparkSession", text: str) -> Any:
    """Spark's parser of a text, which reports no errors by itself."""
    session: Any = spark
    java = _java(session._jvm)
    lexer = java.lexer(java.text(java.texts.fromString(text)))
    lexer.removeErrorListeners()
    parser = java.parser(java.tokens(lexer))
    parser.removeErrorListeners()
    return parser


@dataclass(frozen=True, slots=True)
class _Java:
    """The classes of Spark's parser; Py4J takes a call for each part of their names."""

    texts: Any
    text: Any
    tokens: Any
    lexer: Any
    parser: Any
    stops: Any


@lru_cache(maxsize=1)
def _java(java: Any) -> _Java:
    antlr, spark = java.org.antlr.v4.runtime, java.org.apache.spark.sql.catalyst.parser
    text, tokens = spark.UpperCaseCharStream, antlr.CommonTokenStream
    return _Java(antlr.CharStreams, text, tokens, spark.SqlBaseLexer, spark.SqlBaseParser, antlr.BailErrorStrategy)


@dataclass(frozen=True, slots=True)
class Placed:
    """A word of Spark's, where it begins, and the rules that it stands in, outermost first, each with its number."""

    text: str
    start: int
    rules: tuple[tuple[str, int], ...]


def placed_words(text: str, tree: str) -> list[Placed]:
    """The words of a tree at their places in the masked text."""
    found: list[Placed] = []
    rules: list[tuple[str, int]] = []
    position = 0
    for number, piece in enumerate(tree.split(" ")):
        if len(piece) > 1 and piece[0] == "(" and piece[1] != ")":
            rules.append((piece[1:], number))
            continue
        word = piece[0] if piece[0] in "()" else piece.rstrip(")")
        start = _next_word(text, position)
        if text.startswith(word, start):  # else it is a rule without a word
            found.append(Placed(word, start, tuple(rules)))
            position = start + len(word)
        del rules[len(rules) - (len(piece) - len(word)) :]
    return found


def _next_word(text: str, position: int) -> int:
    found = _VISIBLE.search(text, position)
    return len(text) if found is None else found.start()


def _own_words(placed: list[Placed]) -> Iterator[int]:
    """Where words outside of closed rules begin, and where the outermost queries do."""
    queries: set[int] = set()
    for word in placed:
        outermost = next((rule for rule in word.rules if rule[0] in _CLOSED), None)
        if outermost is None:
            yield word.start
        elif outermost[0] == "query" and outermost[1] not in queries:
            queries.add(outermost[1])
            yield word.start
