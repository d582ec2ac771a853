"""Steps of a pipeline that change rows, or how they lie, each by an engine that chance says."""

from typing import Any, Final, Literal

from hypothesis import strategies as st

from lakebed.spark.fit import quoted
from tests.support.pipeline.conditions import as_given
from tests.support.pipeline.expressions import expression
from tests.support.pipeline.line import TABLE, WAYS, Line, Step
from tests.support.pipeline.merges import merge
from tests.support.pipeline.values import single


def append(line: Line, data: st.DataObject) -> object:
    columns = line.some_columns(data)
    rows = line.new_rows(data, columns)
    line.model.put(rows)
    way = data.draw(WAYS, "way")
    given = line.handed(data, columns, rows, way)
    if way != "sql":
        return line.table.append(given)
    return line.sql(f"INSERT INTO {TABLE} BY NAME SELECT * FROM {line.view(given)}")


def append_with_a_new_column(line: Line, data: st.DataObject) -> object:
    column = line.new_column(data)
    columns = [*line.some_columns(data), column]
    rows = line.new_rows(data, columns)
    commit = line.table.append(line.handed(data, columns, rows), evolve="add")
    line.model.columns.append(column)
    for row in line.model.rows.values():
        row[column.number] = None
    line.model.put(rows)
    return commit


def delete(line: Line, data: st.DataObject) -> object:
    where = line.where(data)
    line.model.take(where)
    way, given = data.draw(WAYS, "way"), as_given(data, where)
    assert given is not None
    if way == "sql":
        return line.sql(f"DELETE FROM {TABLE} WHERE {given}")
    return line.table.delete(given, line.spark if way == "spark" else None)


def truncate(line: Line, data: st.DataObject) -> object:
    line.model.take(None)
    return line.table.truncate()


def update(line: Line, data: st.DataObject) -> object:
    where = line.where_or_none(data)
    _, *columns = sorted(line.model.columns)
    changed = data.draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True), "changed")
    given, made = {}, {}
    for one in changed:
        given[one.name], made[one.number] = expression(line.model, data, one)
    for row in line.model.rows.values():
        if where is None or where.passes(row):
            row.update({number: make(dict(row)) for number, make in made.items()})
    way, when = data.draw(WAYS, "way"), as_given(data, where)
    if way == "sql" and all(isinstance(one, str) for one in given.values()):
        told = ", ".join(f"{quoted(name)} = {value}" for name, value in given.items())
        return line.sql(f"UPDATE {TABLE} SET {told}" + ("" if when is None else f" WHERE {when}"))
    return line.table.update(given, when, None if way == "local" else line.spark)


def upsert(line: Line, data: st.DataObject) -> object:
    columns = line.some_columns(data)
    rows = line.drawn(data, columns)
    fill: Literal["keep", "default"] = data.draw(st.sampled_from(["keep", "default"]), "fill")
    known = line.model.rows if fill == "keep" else {}
    line.model.put([{**known.get(row[0], {}), **row} for row in rows])
    key = line.model.name(0)
    on = data.draw(st.sampled_from([key, [key]]))
    return line.table.upsert(line.handed(data, columns, rows), on, fill=fill)


def overwrite(line: Line, data: st.DataObject) -> object:
    where = line.where_or_none(data)
    columns = line.some_columns(data)
    rows = line.drawn(data, columns)
    line.model.take(where)
    rows = [row for row in rows if row[0] not in line.model.rows]
    line.model.put(rows)
    line.fresh |= {row[0] for row in rows}
    return line.table.overwrite(line.handed(data, columns, rows), as_given(data, where))


def overwrite_partitions(line: Line, data: st.DataObject) -> object:
    """By partitions that the model knows; rows whose keys others have are left out."""
    number, of = data.draw(st.sampled_from(line.model.known_partitions()), "parted")
    line.table.compact(line.session(data))  # so that no file is of an older spec
    rows, others = line.drawn(data), line.model.rows
    while True:
        parts = {of(row[number]) for row in rows}
        others = {key: row for key, row in line.model.rows.items() if of(row[number]) not in parts}
        left = [row for row in rows if row[0] not in others]
        if len(left) == len(rows):
            break
        rows = left
    line.model.rows = others
    line.model.put(rows)
    line.fresh |= {row[0] for row in rows}
    return line.table.overwrite_partitions(line.handed(data, line.model.columns, rows))


def compact(line: Line, data: st.DataObject) -> object:
    options: dict[str, Any] = {}
    match data.draw(st.sampled_from(["plain", "sort", "sort by", "where"]), "strategy"):
        case "sort" if line.model.order:
            options["strategy"] = "sort"
        case "sort by" if not line.model.keyed:  # a primary key has an order of its own
            column = data.draw(st.sampled_from(single(sorted(line.model.columns))))
            options["sort_by"] = [f"{quoted(column.name)} desc nulls first"]
        case "where":
            options["where"] = as_given(data, line.where(data))
    if data.draw(st.booleans()):
        options["target_bytes"] = data.draw(st.sampled_from([1, 4000]))
    return line.table.compact(line.session(data), **options)


CHANGES: Final[list[Step]] = [
    append,
    append_with_a_new_column,
    delete,
    truncate,
    update,
    upsert,
    merge,
    overwrite,
]
