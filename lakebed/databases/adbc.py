"""Rows of SQLite and PostgreSQL by ADBC: Arrow's columns, from one read-only snapshot of the database."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import pyarrow
from adbc_driver_manager import Error, OperationalError
from adbc_driver_manager.dbapi import Connection, Cursor

from lakebed.databases.address import Address
from lakebed.databases.relation import MOST_TIED, Behind, Column, Mark, Relation, condition, digest, quoted
from lakebed.errors import Invalid, LakebedError, NotFound, Unavailable
from lakebed.table.types import types
from lakebed.table.types.types import Decimal, Field, Type

T = TypeVar("T")

BATCH_ROWS: Final = 65_536
"""SQLite has no types of columns: the driver goes by those of the first batch."""

_TYPES: dict[pyarrow.DataType, Type] = {
    pyarrow.bool_(): types.BOOLEAN,
    pyarrow.int8(): types.INT,
    pyarrow.int16(): types.INT,
    pyarrow.int32(): types.INT,
    pyarrow.int64(): types.LONG,
    pyarrow.uint32(): types.LONG,
    pyarrow.float32(): types.FLOAT,
    pyarrow.float64(): types.DOUBLE,
    pyarrow.string(): types.STRING,
    pyarrow.large_string(): types.STRING,
    pyarrow.binary(): types.BINARY,
    pyarrow.large_binary(): types.BINARY,
    pyarrow.date32(): types.DATE,
    pyarrow.time64("us"): types.TIME,
    pyarrow.timestamp("us"): types.TIMESTAMP,
}


class AdbcRows:
    """Rows of a database, in a transaction that changes nothing."""

    def __init__(self, address: Address, relation: Relation, behind: Behind | None) -> None:
        self._address, self._relation = address, relation
        self._where = condition(relation, behind)
        self._reading = list[Cursor]()
        self._connection: Connection = self._asked(lambda: _connected(address), is_opening=True)
        try:
            self._begin()
            # SQLite's columns have the types of their values.
            self._schema = self._asked(lambda: self._reader("" if address.kind == "sqlite" else " WHERE 1 = 0").schema)
        except BaseException:
            self.close()
            raise

    def columns(self) -> Sequence[Column]:
        return [_column(field) for field in self._schema]

    def count(self) -> int:
        return int(self._one("count(*)", self._where))

    def unmarked(self) -> int:
        return self.count() - int(self._one(f"count({quoted(self._relation.since or '')})", self._where))

    def mark(self) -> Mark | None:
        name = self._relation.since or ""
        type = self._schema.field(name).type
        is_number = pyarrow.types.is_integer(type) or pyarrow.types.is_floating(type)
        largest = f"max({quoted(name)})"
        found: Mark | None = self._one(largest if is_number else f"CAST({largest} AS TEXT)", "")
        return found

    def tied(self, mark: Mark) -> str | None:
        where = condition(self._relation, Behind(mark, again=True))
        if int(self._one("count(*)", where)) > MOST_TIED:
            return None
        found = self._asked(lambda: self._reader(where).read_all())
        return digest(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def data(self, names: Sequence[str]) -> pyarrow.RecordBatchReader:
        reader = self._asked(lambda: self._reader(self._where))
        own = pyarrow.schema([_plain_field(self._schema.field(name)) for name in names])
        return pyarrow.RecordBatchReader.from_batches(own, self._batches(reader, own))

    def close(self) -> None:
        for cursor in self._reading:
            cursor.close()
        self._connection.close()

    def _batches(self, reader: pyarrow.RecordBatchReader, form: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
        while True:
            try:
                batch = self._asked(reader.read_next_batch)
            except StopIteration:
                return
            yield self._asked(lambda batch=batch: _as_known(batch, form))  # type: ignore[misc]

    def _begin(self) -> None:
        if self._address.kind == "postgresql":
            self._run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._run("SET LOCAL datestyle = 'ISO, YMD'")
            self._run("SET LOCAL timezone = 'UTC'")

    def _run(self, statement: str) -> None:
        def asked() -> None:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)

        self._asked(asked)

    def _one(self, expression: str, where: str) -> Any:
        def asked() -> Any:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT {expression} FROM {self._relation.source}{where}")
                [row] = cursor.fetchall()
                return row[0]

        return self._asked(asked)

    def _reader(self, where: str) -> pyarrow.RecordBatchReader:
        cursor = self._connection.cursor()
        self._reading.append(cursor)  # one that is forgotten ends its reader
        if self._address.kind == "sqlite":
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
        cursor.execute(f"SELECT * FROM {self._relation.source}{where}")
        return cursor.fetch_record_batch()

    def _asked(self, ask: Callable[[], T], *, is_opening: bool = False) -> T:
        """What the database answers; its errors are ours, and have no trace of the password."""
        try:
            return ask()
        except (Error, pyarrow.ArrowException, OSError) as error:
            refused = _refusal(self._address, self._relation, error, is_opening)
        raise refused  # outside of the `except`: the driver's error is not chained to it


def _connected(address: Address) -> Connection:
    if address.kind == "sqlite":
        from adbc_driver_sqlite import dbapi as sqlite

        if not os.path.isfile(address.url):  # it would be created
            raise NotFound("there is no such database", subject=address.shown)
        path = address.url.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        found: Connection = sqlite.connect(f"file:{path}?mode=ro")
        return found
    from adbc_driver_postgresql import dbapi as postgresql

    opened: Connection = postgresql.connect(address.url)
    return opened


def _refusal(address: Address, relation: Relation, error: Exception, is_opening: bool) -> LakebedError:
    text = address.without_secrets((str(error).strip().splitlines() or [type(error).__name__])[0])
    if is_opening or isinstance(error, OperationalError):
        problem, advice = "the database does not answer", "Check its address, user and password."
        return Unavailable(problem, subject=address.shown, found=text, advice=advice)
    called = relation.text if len(relation.text) <= 80 else f"{relation.text[:80]}…"
    return Invalid("the database refuses this", subject=f"{address.shown} {called}", found=text)


def _column(field: pyarrow.Field) -> Column:
    """A column, by its type in Arrow and by what the driver says of the database's."""
    about = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    theirs = about.get("POSTGRESQL:type", str(field.type))
    if theirs == "numeric":
        exact = _numeric(int(about.get("POSTGRESQL:typmod", -1)))
        note = "" if exact else "numeric without a precision is text here: name its type, such as decimal(38, 9)"
        return Column(
            field.name, theirs, Field(field.name, exact or types.STRING), note=note and f"{field.name}: {note}"
        )
    plain = _plain_field(field).type
    if pyarrow.types.is_list(plain) and plain.value_type in _TYPES:
        return Column(field.name, theirs, Field(field.name, types.List(_TYPES[plain.value_type])))
    known = types.TIMESTAMPTZ if pyarrow.types.is_timestamp(plain) and plain.tz else _TYPES.get(plain)
    if isinstance(field.type, pyarrow.UuidType):
        known = types.UUID
    if known is None:
        return Column(field.name, theirs, None, "no table here has this type: cast it in a query, or leave it out")
    return Column(field.name, theirs, Field(field.name, known))


def _numeric(modifier: int) -> Type | None:
    """The decimal that PostgreSQL's type modifier means; None if it is not one of ours."""
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    return Decimal(precision, scale) if modifier >= 4 and precision <= 38 and scale <= precision else None


def _plain_field(field: pyarrow.Field) -> pyarrow.Field:
    if isinstance(field.type, pyarrow.BaseExtensionType) and not isinstance(field.type, pyarrow.UuidType):
        return pyarrow.field(field.name, field.type.storage_type)
    return pyarrow.field(field.name, field.type)


def _as_known(batch: pyarrow.RecordBatch, form: pyarrow.Schema) -> pyarrow.RecordBatch:
    """The rows in known types: those of SQLite's new rows may look otherwise, if they have only nulls."""
    columns = [_plain(batch.column(name)) for name in form.names]
    known = [
        pyarrow.nulls(len(column), field.type) if column.null_count == len(column) else column.cast(field.type)
        for column, field in zip(columns, form, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(known, schema=form)


def _plain(column: pyarrow.Array) -> pyarrow.Array:
    """Numbers and JSON that Arrow has no type for are texts."""
    if isinstance(column, pyarrow.ExtensionArray) and not isinstance(column.type, pyarrow.UuidType):
        return column.storage
    return column
