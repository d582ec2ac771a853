"""Changes of columns in ALTER TABLE, by a table's evolution."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import Invalid
from lakebed.lake.evolve import Evolve
from lakebed.lake.sql.execution import Execution
from lakebed.lake.table import Table
from lakebed.spark.sql.ddl import declared_schema
from lakebed.spark.sql.objects.columns import AddColumns, ChangeColumns, ColumnChange, DropColumns, NewColumn, Place
from lakebed.spark.sql.statements import Column
from lakebed.spark.sql.tokens import Word, Words
from lakebed.spark.types import spark_schema
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Type

Names = tuple[str, ...]


def add_columns(execution: Execution, table: Table, change: AddColumns) -> Commit | None:
    """Add columns, all in one commit. None if all are there already, and may be."""
    columns = [(column, _field(execution.spark, column, change.words)) for column in change.columns]
    while True:
        missing = [pair for pair in columns if not (change.if_not_exists and _has(table.schema, pair[0].path))]
        if not missing:
            return None
        try:
            return _add(execution, table, missing)
        except Invalid:
            if not change.if_not_exists or not any(_has(table.schema, column.path) for column, _ in missing):
                raise  # nobody else added a column meanwhile


def drop_columns(execution: Execution, table: Table, change: DropColumns) -> Commit | None:
    """Drop columns, all in one commit. None if none of them is there, and need not be."""
    paths = [path for path in change.paths if not change.if_exists or _has(table.schema, path)]
    if not paths:
        return None
    with table.evolve(**execution.by.keywords) as evolve:
        for path in paths:
            evolve.drop_column(path)
    return evolve.committed


def change_columns(execution: Execution, table: Table, change: ChangeColumns) -> Commit | None:
    """Change columns, all in one commit."""
    with table.evolve(**execution.by.keywords) as evolve:
        for column in change.changes:
            _change(execution, evolve, table.schema, column, change.words)
    return evolve.committed


def _add(execution: Execution, table: Table, columns: Sequence[tuple[NewColumn, Field]]) -> Commit | None:
    with table.evolve(**execution.by.keywords) as evolve:
        for column, field in columns:
            evolve.add_column(
                column.path,
                _type(field),
                default=field.write_default,
                required=column.required,
                comment=column.comment,
                first=column.place == Place(None),
                after=_beside(column.path, column.place),
            )
    return evolve.committed


def _change(execution: Execution, evolve: Evolve, schema: Schema, column: ColumnChange, words: Words) -> None:
    path, type = column.path, column.type
    if type is not None:
        evolve.widen_column(path, _type(_declared(execution.spark, path, type, None, column.word, words)))
    if column.comment is not None:
        evolve.set_comment(path, column.comment)
    if column.default is not None:
        evolve.set_default(path, _default(execution.spark, schema, column, words))
    if column.optional:
        evolve.make_optional(path)
    if column.place is not None:
        evolve.move_column(path, first=column.place == Place(None), after=_beside(path, column.place))
    if column.new_name is not None:
        evolve.rename_column(path, column.new_name)


def _default(spark: SparkSession, schema: Schema, column: ColumnChange, words: Words) -> object:
    """The value of a default, by the column's new type or the one that it has; None to have none."""
    if not column.default:
        return None
    own = spark_schema(Schema([schema.find(column.path)])).fields[0].dataType.simpleString()
    return _declared(spark, column.path, column.type or own, column.default, column.word, words).write_default


def _field(spark: SparkSession, column: NewColumn, words: Words) -> Field:
    return _declared(spark, column.path, column.type, column.default, column.word, words)


def _declared(spark: SparkSession, path: Names, type: str, default: str | None, word: Word, words: Words) -> Field:
    column = Column(path[-1], type, word, default)
    return declared_schema(spark, [column], words).fields[0]


def _type(field: Field) -> Type | str:
    """A field's type, with the length that it was declared with."""
    return field.type if field.max_length is None else f"varchar({field.max_length})"


def _beside(path: Names, place: Place | None) -> Names | None:
    """The path of the column that another goes behind, in the same struct."""
    return None if place is None or place.after is None else (*path[:-1], place.after)


def _has(schema: Schema, path: Names) -> bool:
    try:
        schema.find(path)
    except Invalid:
        return False
    return True
