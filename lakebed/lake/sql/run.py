"""Runs statements in SQL. Loaded with the first statement: it needs PySpark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import LakebedError
from lakebed.lake.sql import changes, queries, tables
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Attribution, Places, pointed
from lakebed.lake.table import Table
from lakebed.spark.sql.parameters import Args, filled
from lakebed.spark.sql.parsing import parse_words
from lakebed.spark.sql.statements import (
    CreateTable,
    CreateTemporaryView,
    Delete,
    DropTable,
    Insert,
    InsertOverwrite,
    Merge,
    Select,
    Update,
)
from lakebed.spark.sql.tokens import Words, statements_of


def run(
    spark: SparkSession, text: str, args: Args | None, places: Callable[[], Places], by: Attribution
) -> DataFrame | Commit | Table | None:
    """Run the statements in a text, each at the newest version; the answer is the last one's.

    A query answers its DataFrame, a change its commit, a new table its handle.
    """
    statements = statements_of(filled(text, args))
    if len(statements) == 1:
        return _run(Execution(spark, places(), by, statements[0].text), statements[0])
    _check_repeatable(statements, by)
    answer: DataFrame | Commit | Table | None = None
    for number, words in enumerate(statements):
        with _numbered_errors(number + 1, len(statements)):
            answer = _run(Execution(spark, places(), by, words.text, len(statements)), words)
    return answer


def _run(execution: Execution, words: Words) -> DataFrame | Commit | Table | None:
    match parse_words(replace(words, namespace=execution.places.namespace), execution.spark):
        case Select() as select:
            return queries.select(execution, select)
        case CreateTemporaryView() as view:
            return queries.create_temporary_view(execution, view)
        case Insert() as insert:
            return changes.insert(execution, insert)
        case InsertOverwrite() as overwrite:
            return changes.insert_overwrite(execution, overwrite)
        case Update() as update:
            return changes.update(execution, update)
        case Delete() as delete:
            return changes.delete(execution, delete)
        case Merge() as merge:
            return changes.merge(execution, merge)
        case CreateTable() as create:
            return tables.create_table(execution, create)
        case DropTable() as drop:
            return tables.drop_table(execution, drop)


@contextmanager
def _numbered_errors(number: int, count: int) -> Iterator[None]:
    """Add to an error which statement it is about."""
    which = f"statement {number} of {count}"
    try:
        yield
    except LakebedError as error:
        raise pointed(error, which) from error
    except Exception as error:
        error.add_note(f"In {which}. The statements before it have run.")
        raise


def _check_repeatable(statements: Sequence[Words], by: Attribution) -> None:
    if by.event_id is not None:
        advice = "Pass each statement in a call of its own, or all of them in a transaction."
        raise statements[1].refused("several statements can't share an event id", statements[1].words[0], advice=advice)
