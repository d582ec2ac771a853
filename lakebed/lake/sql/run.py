"""Runs statements in SQL. Loaded with the first statement: it needs PySpark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import SparkSession

from lakebed.errors import LakebedError
from lakebed.lake.sql import changes, queries, tables
from lakebed.lake.sql.answers import Answer
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Attribution, Places, pointed
from lakebed.lake.sql.objects import describe, namespaces, refs, show, use, views
from lakebed.lake.sql.objects.alter import alter_table
from lakebed.lake.sql.objects.comments import comment_on
from lakebed.lake.sql.objects.like import create_table_like
from lakebed.lake.sql.objects.maintenance import check_exists, optimize
from lakebed.lake.sql.objects.returns import restore, undrop
from lakebed.spark.sql.names import first_parts
from lakebed.spark.sql.objects.alter import AlterTable
from lakebed.spark.sql.objects.comments import CommentOn
from lakebed.spark.sql.objects.describe import DescribeDetail, DescribeHistory, DescribeNamespace, DescribeTable
from lakebed.spark.sql.objects.like import CreateTableLike
from lakebed.spark.sql.objects.maintenance import NothingToDo, Optimize
from lakebed.spark.sql.objects.namespaces import AlterNamespace, CreateNamespace, DropNamespace
from lakebed.spark.sql.objects.refs import CreateRef, DropRef, MergeBranch, UseCatalog, UseNamespace, UseReference
from lakebed.spark.sql.objects.returns import Restore, Undrop, UndropRef
from lakebed.spark.sql.objects.show import (
    ShowColumns,
    ShowCreate,
    ShowCurrent,
    ShowLog,
    ShowObjects,
    ShowPartitions,
    ShowProperties,
    ShowRefs,
)
from lakebed.spark.sql.objects.views import AlterView, CreateView, DropView
from lakebed.spark.sql.parameters import Args, filled, with_names
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


def run(spark: SparkSession, text: str, args: Args | None, places: Callable[[], Places], by: Attribution) -> Answer:
    """Run the statements in a text, each at the newest version; the answer is the last one's.

    A query answers its DataFrame, a change its commit, what is created its handle.
    """
    statements = statements_of(with_names(filled(text, args)))
    if len(statements) == 1:
        return _run(Execution(spark, places(), by, statements[0].text), statements[0])
    _check_repeatable(statements, by)
    answer: Answer = None
    for number, words in enumerate(statements):
        with numbered_errors(number + 1, len(statements)):
            answer = _run(Execution(spark, places(), by, words.text, len(statements)), words)
    return answer


def _run(execution: Execution, words: Words) -> Answer:
    places = execution.places
    named = replace(
        words,
        namespace=places.searched,
        catalogs=places.catalogs(first_parts(words)),
        databases=places.databases,
        columns=execution.columns,
    )
    match parse_words(named, execution.spark):
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
        case CreateTableLike() as like:
            return create_table_like(execution, like)
        case AlterTable() as change:
            return alter_table(execution, change)
        case CreateView() as view:
            return views.create_view(execution, view)
        case AlterView() as view:
            return views.alter_view(execution, view)
        case DropView() as view:
            return views.drop_view(execution, view)
        case CreateNamespace() as namespace:
            return namespaces.create_namespace(execution, namespace)
        case AlterNamespace() as namespace:
            return namespaces.alter_namespace(execution, namespace)
        case DropNamespace() as namespace:
            return namespaces.drop_namespace(execution, namespace)
        case CommentOn() as comment:
            return comment_on(execution, comment)
        case Undrop() as undropped:
            return undrop(execution, undropped)
        case Restore() as restored:
            return restore(execution, restored)
        case Optimize() as optimized:
            return optimize(execution, optimized)
        case NothingToDo() as asked:
            check_exists(execution, asked)
            return None
        case CreateRef() as ref:
            return refs.create_ref(execution, ref)
        case DropRef() as ref:
            return refs.drop_ref(execution, ref)
        case UndropRef() as ref:
            return refs.undrop_ref(execution, ref)
        case MergeBranch() as branch:
            return refs.merge_branch(execution, branch)
        case UseReference() as used:
            return use.use_reference(execution, used)
        case UseNamespace() as used:
            return use.use_namespace(execution, used)
        case UseCatalog() as used:
            return use.use_catalog(execution, used)
        case ShowCurrent():
            return use.show_current(execution)
        case ShowObjects() as shown:
            return show.show_objects(execution, shown)
        case ShowRefs() as shown:
            return show.show_refs(execution, shown)
        case ShowColumns() as shown:
            return show.show_columns(execution, shown)
        case ShowCreate() as shown:
            return show.show_create(execution, shown)
        case ShowProperties() as shown:
            return show.show_properties(execution, shown)
        case ShowPartitions() as shown:
            return show.show_partitions(execution, shown)
        case ShowLog() as shown:
            return show.show_log(execution, shown)
        case DescribeTable() as described:
            return describe.describe_table(execution, described)
        case DescribeHistory() as described:
            return describe.describe_history(execution, described)
        case DescribeDetail() as described:
            return describe.describe_detail(execution, described)
        case DescribeNamespace() as described:
            return describe.describe_namespace(execution, described)


@contextmanager
def numbered_errors(number: int, count: int) -> Iterator[None]:
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
