"""Statements of an attached session: those about the lake are run by it, all others by Spark, as they are written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from lakebed.catalog.inspect.registry import is_system_table
from lakebed.errors import Invalid
from lakebed.lake.attached.formatting import formatted
from lakebed.lake.attached.names import Found, Names, closed
from lakebed.lake.attached.shows import with_sparks_own
from lakebed.lake.sql.names import SPARKS, Attribution, Places
from lakebed.lake.sql.read import Reader
from lakebed.lake.sql.run import numbered_errors
from lakebed.lake.sql.statement import run_statement
from lakebed.spark.attachment.attached import Args, Sql
from lakebed.spark.sql.expressions import InnerView
from lakebed.spark.sql.names import LakeName, chains, first_parts
from lakebed.spark.sql.objects.comments import CommentOn
from lakebed.spark.sql.objects.kinds import ObjectKind
from lakebed.spark.sql.objects.refs import UseCatalog
from lakebed.spark.sql.parameters import IDENTIFIER, filled, with_names
from lakebed.spark.sql.parsing import parse_words
from lakebed.spark.sql.queries import Query
from lakebed.spark.sql.statements import CreateTable, CreateTemporaryView, Insert, InsertOverwrite, Select
from lakebed.spark.sql.tokens import Words, statements_of, words_of

QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "EXPLAIN", "DESCRIBE", "DESC")
CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE")
SPARKS_OWN = ("SET", "RESET", "CLEAR", "ADD", "DECLARE", "EXECUTE", "BEGIN", "DFS")
"""The first words of statements that only Spark has; but for SET CATALOG."""


@dataclass(frozen=True, slots=True)
class Answering:
    """A statement that an attached session was given; `own` runs it by Spark."""

    names: Names
    own: Sql
    text: str
    args: Args
    given: Mapping[str, Any]

    def run(self) -> DataFrame:
        """What Spark answers: a query's rows, and for a change an empty DataFrame."""
        statements = _statements(self.text)
        if not statements or statements[0].words[0].reads("BEGIN"):  # a script, with semicolons of its own
            return self._by_spark()
        if len(statements) > 1:
            with formatted(self.names.spark, self.text, self.given) as text:
                return self._one_by_one(filled(text, self.args))
        if _is_sparks_own(statements[0]):
            return self._by_spark()
        if not self.names.is_open:
            return self._without_lake(statements)
        if not self._may_name_the_lakes(statements[0]):
            return self._by_spark()
        with formatted(self.names.spark, self.text, self.given) as text:
            return self._one(text)

    def _one(self, text: str) -> DataFrame:
        # Spark takes more kinds of values, so they are looked at only if the lake runs it.
        may_be_sparks = self.args is not None and IDENTIFIER not in text.upper()
        is_sparks = may_be_sparks and _Parsed(self.names, self.own, text).is_sparks()
        answer = None if is_sparks else _Parsed(self.names, self.own, with_names(filled(text, self.args))).run()
        return self._by_spark() if answer is None else answer

    def _one_by_one(self, text: str) -> DataFrame:
        """Several statements, which Spark itself does not take in one text; the last one answers."""
        statements = statements_of(text)
        for number, words in enumerate(statements):
            with numbered_errors(number + 1, len(statements)):
                answer = Answering(self.names, self.own, words.only(), None, {}).run()
        return answer

    def _by_spark(self) -> DataFrame:
        answer = self.own(self.text, self.args, **self.given)
        if self.text.lstrip()[:4].upper().strip() == "USE" and self.names.is_open:
            self.names.use(())  # a database of Spark's was chosen: it now holds the names of one part
        return answer

    def _without_lake(self, statements: Sequence[Words]) -> DataFrame:
        """What is read can't do harm. What is changed could land in Spark, and is refused."""
        if not all(words.words[0].reads(*QUERIES) for words in statements):
            raise closed(self.names.context)
        try:
            return self._by_spark()
        except AnalysisException as error:
            error.add_note(str(closed(self.names.context)))
            raise

    def _may_name_the_lakes(self, words: Words) -> bool:
        """A quick look: whether a query or change has a word that is a name in the lake. Other statements may be."""
        first, second = words.words[0], words.words[min(1, len(words.words) - 1)]
        if not first.reads(*QUERIES, *CHANGES) or second.reads("BRANCH", "TAG"):
            return True
        given = {word.text for word in words.words if word.names}
        if any("@" in word or is_system_table(word) or word.upper() == IDENTIFIER for word in given):
            return True
        if self.names.knows(given):
            return True
        return any(self.names.has_catalog(part) for part in first_parts(words) if part not in SPARKS)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A statement that may be the lake's."""

    names: Names
    own: Sql
    text: str

    def is_sparks(self) -> bool:
        """Whether Spark has to run it, with or without tables of the lake in it."""
        statement = self._statement()
        return statement is None or not self._is_the_lakes(statement)

    def run(self) -> DataFrame | None:
        """Its answer; None if Spark has to run it as it is."""
        statement = self._statement()
        if statement is None:
            return None
        if not self._is_the_lakes(statement):
            return self._into_spark(statement)
        answer = run_statement(self.names.spark, self.text, None, self._places, Attribution())
        if not isinstance(answer, DataFrame) or isinstance(statement, CreateTemporaryView):
            return self.names.spark.range(0).select()
        return with_sparks_own(self.names.spark, self.own, statement, self.names.current.namespace, answer)

    def _statement(self) -> object | None:
        """The statement; None for one of Spark's. What can't be read and names something of the lake is `Invalid`."""
        try:
            words = words_of(self.text, self.names.current.namespace)
            places = self._places()
            named = replace(words, catalogs=places.catalogs(first_parts(words)), databases=places.databases)
            return parse_words(named, self.names.spark)
        except Invalid:
            if self._names_an_object():
                raise
            return None

    def _is_the_lakes(self, statement: object) -> bool:
        changed, read = _mentioned(statement)
        if isinstance(statement, UseCatalog):
            return self.names.has_catalog(statement.catalog.text)
        if isinstance(statement, CommentOn) and statement.kind is ObjectKind.COLUMN:
            return self._is_of_a_table(statement.name)
        if changed:
            return any(self._is_owned(name) for name in changed)
        return not isinstance(statement, Select | CreateTemporaryView) or self._any_is_there(read)

    def _places(self) -> Places:
        newest = self.names.context.metastore.newest()
        return Places(self.names.catalog, newest, namespace=self.names.current.namespace, is_attached=True)

    def _into_spark(self, statement: object) -> DataFrame | None:
        """A change of Spark's own tables, which may read the lake's: only their names are replaced in the text."""
        query = _query_of(statement)
        if query is None or not self._any_is_there(_mentioned(statement)[1]):
            return None
        return self._reader.frame(replace(query, text=self.text))

    def _any_is_there(self, read: list[LakeName]) -> bool:
        reader = self._reader
        return any(name.place is not None or reader.has(name) or self._was_there(name) for name in read)

    def _was_there(self, name: LakeName) -> bool:
        """Whether a name is read at a moment, and may have been the lake's then."""
        found = None if name.moment is None else self._place(name)
        return found is not None and len(found.parts) > 1 and found.has_home

    @property
    def _reader(self) -> Reader:
        return Reader(self.names.spark, self._places())

    def _is_owned(self, name: LakeName) -> bool:
        found = self._place(name)
        return found is not None and self.names.owns(found)

    def _is_of_a_table(self, column: LakeName) -> bool:
        """Whether the name of a column begins with that of a table in the lake."""
        wholes = ((*inside, *column.parts) for inside in {(), self.names.current.namespace})
        found = (self.names.at(column.place, whole[:size]) for whole in wholes for size in range(1, len(whole)))
        return any(one is not None and one.is_table for one in found)

    def _place(self, name: LakeName) -> Found | None:
        if name.is_relative and self.names.is_temporary(name.parts[-1]):
            return None
        return self.names.at(name.place, name.parts)

    def _names_an_object(self) -> bool:
        """Whether a text that can't be parsed has the name of an object in the lake, or of its place there."""
        statements = _statements(self.text)
        parts = [
            tuple(word.text for word in words.words[begin:end:2])
            for words in statements
            for begin, end in chains(words)
        ]
        if any("@" in part for name in parts for part in name):
            return True
        catalog = self.names.catalog
        shows = any(words.words[0].reads("SHOW") for words in statements)
        if shows and any(Found(catalog, name).is_namespace for name in parts):
            return True
        dotted = [name for name in parts if len(name) > 1]
        return any(Found(catalog, name).has_home or Found(catalog, name).exists for name in dotted)


def _statements(text: str) -> list[Words]:
    """The words of the statements in a text; none if they can't be read, which Spark then says."""
    try:
        return statements_of(text)
    except Invalid:
        return []


def _is_sparks_own(words: Words) -> bool:
    return words.words[0].reads(*SPARKS_OWN) and not (len(words.words) > 1 and words.words[1].reads("CATALOG"))


def _query_of(statement: object) -> Query | None:
    match statement:
        case Insert(query=query) | InsertOverwrite(insert=Insert(query=query)) | CreateTable(query=query):
            return query
        case _:
            return None


def _mentioned(statement: object) -> tuple[list[LakeName], list[LakeName]]:
    """The names of what a statement changes or is about, and of what its queries read."""
    changed: list[LakeName] = []
    read: list[LakeName] = []
    for name, is_read in _names_in(statement):
        (read if is_read else changed).append(name)
    return changed, read


def _names_in(value: object) -> Iterator[tuple[LakeName, bool]]:
    match value:
        case LakeName():
            yield value, False
        case Query():
            yield from ((use.name, True) for use in value.uses)
            yield from ((name, True) for name in value.suspects)
        case InnerView():
            yield value.use.name, True
        case tuple():
            for item in value:
                yield from _names_in(item)
        case Words():
            return
        case _ if is_dataclass(value) and not isinstance(value, type):
            for field in fields(value):
                yield from _names_in(getattr(value, field.name))
