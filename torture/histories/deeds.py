"""Deeds: single changes of a line, as they are done to the lake, to a model of it, and as they are kept in a journal.

Rows are pairs (id, v): `id` is the primary key, and each new `v` is a number that nobody else writes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import pyarrow

from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.lake.transaction import Transaction
from tests.support.catalog import model
from tests.support.catalog.model import NAMESPACE, TABLE, Refused, State, Thing
from torture.configuration import Configuration

SCHEMA = {"id": "long", "v": "long"}
FIRST_COLUMNS = {1: "id", 2: "v"}

Pair = tuple[int, int]


class Deed(NamedTuple):
    """What is done, the id of the table that it is done to (or the name of what is not there yet), and the rest."""

    kind: str
    subject: str
    rest: tuple[Any, ...] = ()


ROW_DEEDS = ("append", "upsert", "update", "delete", "overwrite", "truncate")
QUIET_DEEDS = ("compact", "checkpoint")
"""Maintenance: it changes no answer."""


class Engine(Protocol):
    """Who moves the rows."""

    session: Any

    def data(self, pairs: Iterable[Pair]) -> Any:
        """Rows as a call takes them."""

    def read(self, table: Any, where: str | None) -> list[Pair]:
        """The rows of a table, sorted."""


class LocalEngine:
    """The local engine."""

    session = None

    def data(self, pairs: Iterable[Pair]) -> pyarrow.Table:
        return arrow_rows(pairs)

    def read(self, table: Any, where: str | None) -> list[Pair]:
        return pairs_of(table.scan(where, columns=["id", "v"]).to_arrow())


def arrow_rows(pairs: Iterable[Pair]) -> pyarrow.Table:
    ids, values = zip(*pairs, strict=True)
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "v": pyarrow.array(values, pyarrow.int64())})


def pairs_of(rows: pyarrow.Table) -> list[Pair]:
    return sorted(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True))


def parts(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def where_of(modulus: int, rest: int) -> str:
    return f"id % {modulus} = {rest}"


def table_of(line: Catalog | Transaction, id: str) -> Table[Any]:
    """A handle by the table's id, whatever it is called now; its calls are `NotFound` if it was dropped."""
    return Table(id, line._scope)


# To the lake.


def do(line: Catalog | Transaction, deed: Deed, engine: Engine, how: Configuration, **by: Any) -> Any:
    """Do it; the answer is the call's own."""
    kind, subject, rest = deed
    match kind:
        case "create":
            return line.create_table(
                subject,
                SCHEMA,
                primary_key=["id"],
                partition_by=how.partition_by,
                properties=how.properties,
                **by,
            )
        case "create namespace":
            return line.create_namespace(subject, **by)
        case "rename namespace":
            return line.rename_namespace(subject, rest[0], **by)
        case "drop namespace":
            return line.drop_namespace(subject, cascade=True, **by)
        case "undrop namespace":
            return line.undrop_namespace(subject, rest[0], **by)
        case "drop":
            return line.drop_table(subject, **by)
        case "undrop":
            return line.undrop_table(subject, rest[0], **by)
    return _do_to_table(table_of(line, subject), deed, engine, by)


def _do_to_table(table: Table[Any], deed: Deed, engine: Engine, by: Mapping[str, Any]) -> Any:
    kind, _, rest = deed
    match kind:
        case "append":
            return table.append(engine.data(rest[0]), **by)
        case "upsert":
            return table.upsert(engine.data(rest[0]), **by)
        case "update":
            return table.update({"v": f"v + {rest[2]}"}, where_of(*rest[:2]), engine.session, **by)
        case "delete":
            return table.delete(where_of(*rest[:2]), engine.session, **by)
        case "overwrite":
            return table.overwrite(engine.data(rest[2]), where_of(*rest[:2]), **by)
        case "truncate":
            return table.truncate(**by)
        case "rename":
            return table.rename(rest[0], **by)
        case "set":
            return table.set_properties({rest[0]: rest[1]}, **by)
        case "compact":
            return table.compact(engine.session, **by)
        case "add column" | "rename column" | "drop column":
            return _evolve(table, deed, by)
    raise AssertionError(kind)


def _evolve(table: Table[Any], deed: Deed, by: Mapping[str, Any]) -> Any:
    kind, _, rest = deed
    with table.evolve(**by) as change:
        match kind:
            case "add column":
                change.add_column(rest[0], "long", default=rest[1])
            case "rename column":
                change.rename_column(rest[0], rest[1])
            case "drop column":
                change.drop_column(rest[0])
    return change.committed


# To the model.


def after(state: State, deed: Deed, ids: Mapping[str, Any]) -> State:
    """The state after a deed, or `Refused`. `ids` has what only the lake knows: the id of what the deed made."""
    kind, subject, rest = deed
    match kind:
        case "create":
            return model.create(state, parts(subject), TABLE, ids["object"], FIRST_COLUMNS, None)
        case "create namespace":
            return model.create(state, parts(subject), NAMESPACE, ids["object"], {}, None)
        case "rename namespace":
            return model.rename(state, parts(subject), parts(rest[0]), NAMESPACE)
        case "drop namespace":
            return model.drop(state, parts(subject), NAMESPACE)
        case "undrop namespace":
            return model.undrop(state, parts(subject), NAMESPACE, rest[0], None)
        case "drop":
            return model.drop(state, parts(subject), TABLE)
        case "undrop":
            return model.undrop(state, parts(subject), TABLE, rest[0], None)
    if not state.is_alive(subject):
        raise Refused
    if kind in ROW_DEEDS:
        table = state.things[subject]
        return state.put(replace(table, rows=rows_after(table.rows, deed)))
    return _table_after(state, state.things[subject], deed, ids)


def rows_after(rows: frozenset[Any], deed: Deed) -> frozenset[Any]:
    """What a change of rows makes of rows."""
    kind, _, rest = deed
    match kind:
        case "append":
            return rows | given(rest[0])
        case "upsert":
            keys = {id for id, _ in rest[0]}
            return frozenset(row for row in rows if row[0] not in keys) | given(rest[0])
        case "update":
            modulus, remainder, plus = rest
            return frozenset((id, v + plus) if id % modulus == remainder else (id, v) for id, v in rows)
        case "delete" | "overwrite":
            kept = frozenset(row for row in rows if row[0] % rest[0] != rest[1])
            return kept if kind == "delete" else kept | given(rest[2])
    return frozenset()


def given(pairs: Iterable[Iterable[int]]) -> frozenset[Any]:
    """Pairs of a journal, which has lists, as rows."""
    return frozenset((id, v) for id, v in pairs)


def _table_after(state: State, table: Thing, deed: Deed, ids: Mapping[str, Any]) -> State:
    kind, subject, rest = deed
    match kind:
        case "rename":
            return model.rename(state, state.parts(subject), parts(rest[0]), TABLE)
        case "set":
            return model.put_property(state, subject, rest[0], rest[1])
        case "add column":
            return model.put_column(state, subject, ids["column"], rest[0])
        case "rename column":
            return model.put_column(state, subject, _column(table, rest[0]), rest[1])
        case "drop column":
            return model.put_column(state, subject, _column(table, rest[0]), None)
        case "compact":
            return state
    raise AssertionError(kind)


def _column(table: Thing, name: str) -> int:
    found = [number for number, one in table.columns.items() if one == name]
    if not found:
        raise Refused
    return found[0]
