"""Steps of a pipeline that change what its table is: columns, the partition spec, the sort order."""

from typing import Final

from hypothesis import strategies as st

from tests.support.pipeline.layouts import orders, specs
from tests.support.pipeline.line import Line, Step
from tests.support.pipeline.values import WIDER, defaults


def add_column(line: Line, data: st.DataObject) -> None:
    column = line.new_column(data)
    default = data.draw(defaults(column.type), "default")
    first = data.draw(st.booleans(), "first")
    with line.table.evolve() as change:
        change.add_column((column.name,), column.type, default=default, first=first)
    line.model.columns.insert(0 if first else len(line.model.columns), column._replace(default=default))
    for row in line.model.rows.values():
        row[column.number] = default


def drop_column(line: Line, data: st.DataObject) -> None:
    free = [one for one in sorted(line.model.columns) if one.number not in line.model.held | {0}]
    if len(free) < 2:
        return
    column = data.draw(st.sampled_from(free), "dropped")
    with line.table.evolve() as change:
        change.drop_column((column.name,))
    line.model.columns.remove(column)
    for row in line.model.rows.values():
        del row[column.number]


def rename_column(line: Line, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(sorted(line.model.columns)), "renamed")
    name = data.draw(st.sampled_from(line.model.free_names(column.number)), "name")
    with line.table.evolve() as change:
        change.rename_column((column.name,), name)
    line.model.exchange(column, column._replace(name=name))


def swap_names(line: Line, data: st.DataObject) -> None:
    free = [one for one in sorted(line.model.columns) if one.number not in line.model.parted]
    if len(free) < 2:
        return
    left, right = data.draw(st.permutations(free), "swapped")[:2]
    with line.table.evolve() as change:
        change.rename_column((left.name,), "between")
        change.rename_column((right.name,), left.name)
        change.rename_column(("between",), right.name)
    line.model.exchange(left, left._replace(name=right.name))
    line.model.exchange(right, right._replace(name=left.name))


def widen_column(line: Line, data: st.DataObject) -> None:
    narrow = [one for one in sorted(line.model.columns) if one.type in WIDER]
    if not narrow:
        return
    column = data.draw(st.sampled_from(narrow), "widened")
    with line.table.evolve() as change:
        change.widen_column((column.name,), WIDER[column.type])
    line.model.exchange(column, column._replace(type=WIDER[column.type]))


def move_column(line: Line, data: st.DataObject) -> None:
    column, other = data.draw(st.permutations(sorted(line.model.columns)), "moved")[:2]
    with line.table.evolve() as change:
        change.move_column((column.name,), before=(other.name,))
    line.model.columns.remove(column)
    line.model.columns.insert(line.model.columns.index(other), column)


def partition(line: Line, data: st.DataObject) -> None:
    line.model.part(data.draw(specs(line.model.columns), "spec"))
    with line.table.evolve() as change:
        change.partition_by(line.model.texts(line.model.spec))


def sort(line: Line, data: st.DataObject) -> None:
    line.model.sort(data.draw(orders(line.model.columns), "order"))
    with line.table.evolve() as change:
        change.sort_by(line.model.texts(line.model.order))


EVOLUTIONS: Final[list[Step]] = [
    add_column,
    drop_column,
    rename_column,
    swap_names,
    widen_column,
    move_column,
    partition,
    sort,
]
