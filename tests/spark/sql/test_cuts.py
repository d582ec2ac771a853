"""Statements are cut where Spark's own parser cuts them: by its marks, and by the rules that Spark Connect needs."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings
from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.spark.sql.marks import masked, placed_words, spark_tree
from lakebed.spark.sql.parsing import parse_statement
from lakebed.spark.sql.statements import CreateTable, Delete, Insert, InsertOverwrite, Merge, Statement, Update
from lakebed.spark.sql.tokens import words_of
from tests.support.sql_texts import STATEMENTS

MET = [
    "UPDATE ns.t SET a = now() WHERE b = 2",
    "UPDATE ns.t SET a = current_timestamp(), b = 5",
    "MERGE INTO ns.t t USING q s ON t.b = s.b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (now(), s.b)",
    "MERGE INTO ns.t t USING q s ON t.b = s.b WHEN MATCHED AND t.a < now() THEN DELETE WHEN NOT MATCHED THEN INSERT *",
    "INSERT INTO ns.t REPLACE WHERE a > now() SELECT * FROM q",
    "WITH q AS (SELECT count(*) AS n FROM x) INSERT INTO ns.t SELECT n FROM q",
    "CREATE TABLE ns.t (t TIMESTAMP DEFAULT now(), n INT)",
    "CREATE TABLE ns.t (a struct<b: int, c: array<int>> DEFAULT NULL NOT NULL, n INT DEFAULT 1 < 2 COMMENT 'x')",
    "DELETE FROM ns.t WHERE end IS NULL AND when NOT IN (from, where)",
    "UPDATE ns.t SET where = t.from, when = CASE end WHEN 1 THEN end ELSE order END WHERE limit = 1",
    "MERGE INTO ns.t t USING q s ON t.a NOT LIKE ? WHEN MATCHED AND CASE (a) WHEN NOT end THEN 1 END THEN DELETE",
    "UPDATE ns.t@dev SET a = count(*), b = 'where' -- where\nWHERE c = now()",
]


def own_pieces(statement: Statement) -> list[str]:
    """The expressions and types of a statement, in the order of its text."""
    match statement:
        case Update():
            found: list[object] = [*(value for _, value in statement.values), statement.where]
        case Delete() | InsertOverwrite():
            found = [statement.where]
        case Merge():
            values = [[clause.where, *(value for _, value in clause.values or ())] for clause in statement.clauses]
            found = [statement.on, *(piece for pieces in values for piece in pieces)]
        case CreateTable():
            found = [piece for column in statement.columns for piece in (column.type, column.default)]
        case _:
            found = []
    return [unqualified(str(piece)) for piece in found if piece is not None]


def unqualified(piece: str) -> str:
    """A piece without the names of the statement's tables, which are changed when it is cut."""
    return re.sub(r"\b(t|s|target|source)\.", "", piece)


def own_query(statement: Statement) -> str:
    """The query of a statement, with blanks for the rest of the text."""
    inserted = statement.insert if isinstance(statement, InsertOverwrite) else statement
    query = inserted.query if isinstance(inserted, Insert | CreateTable) else None
    return "" if query is None else query.text


class Spans:
    """The outermost pieces of a text by the rules of Spark's grammar that they stand for."""

    def __init__(self, spark: SparkSession, text: str) -> None:
        words = words_of(text)
        tree = spark_tree(spark, masked(words))
        assert tree is not None, text
        self.text = text
        self.words = placed_words(masked(words), tree)

    def of(self, *rules: str) -> Iterator[tuple[str, int, int]]:
        """The rules' outermost pieces: their names, and where they begin and end."""
        found: dict[tuple[str, int], tuple[int, int]] = {}
        for word in self.words:
            rule = next((rule for rule in word.rules if rule[0] in rules), None)
            if rule is not None:
                start, _ = found.get(rule, (word.start, 0))
                found[rule] = start, word.start + len(word.text)
        for (name, _), (start, end) in found.items():
            yield name, start, end

    @property
    def renames_columns(self) -> bool:
        """Whether columns of the table that is changed get other names: Spark refuses that when it has parsed it."""
        outside = [{rule for rule, _ in word.rules} for word in self.words]
        return any({"tableAlias", "identifierList"} <= rules and "query" not in rules for rules in outside)

    def pieces(self) -> list[str]:
        spans = self.of("expression", "booleanExpression", "dataType", "query")
        return [unqualified(self.text[start:end]) for name, start, end in spans if name != "query"]

    def query(self) -> str:
        """The text with blanks for all but its query, with the CTEs before it."""
        found = self.of("ctes", "query", "expression", "booleanExpression")
        spans = [(start, end) for name, start, end in found if name in ("ctes", "query")]
        kept = {place for start, end in spans for place in range(start, end)}
        return "".join(sign if place in kept or sign == "\n" else " " for place, sign in enumerate(self.text))


def check_cuts(spark: SparkSession, text: str) -> None:
    spans = Spans(spark, text)
    for session in (None, spark):
        try:
            statement = parse_statement(text, session)
        except Invalid as refused:
            assert "a query inside this expression can't be read" in str(refused), text
            continue
        assert own_pieces(statement) == spans.pieces(), text
        if own_query(statement):
            assert own_query(statement).split() == spans.query().split(), text


@pytest.mark.parametrize("text", MET)
def test_a_call_without_arguments_swallowed_the_rest_of_the_statement(spark: SparkSession, text: str) -> None:
    check_cuts(spark, text)


@given(text=STATEMENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_statements_are_cut_where_sparks_parser_cuts_them(spark: SparkSession, text: str) -> None:
    assume(spark_tree(spark, masked(words_of(text))) is not None and not Spans(spark, text).renames_columns)
    check_cuts(spark, text)


def test_spark_takes_a_where_before_parentheses_for_an_alias(spark: SparkSession) -> None:
    text = "DELETE FROM ns.t WHERE (a)"
    assert Spans(spark, text).renames_columns
    for session in (None, spark):
        statement = parse_statement(text, session)
        assert isinstance(statement, Delete) and statement.where == "(a)"


def test_marks_are_needed_where_rules_can_not_tell(spark: SparkSession) -> None:
    text = "MERGE INTO ns.t t USING q s ON t.a = case WHEN MATCHED THEN DELETE"
    statement = parse_statement(text, spark)
    assert isinstance(statement, Merge) and statement.on == "target.a = case"
    with pytest.raises(Invalid):
        parse_statement(text)
