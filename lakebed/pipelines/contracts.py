"""Contracts: the columns that a step has to make, and how its table may change to hold what it makes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lakebed.errors import Invalid
from lakebed.lake.arguments import schema_of
from lakebed.lake.table import Table
from lakebed.pipelines.steps import Step
from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """What becomes of a column: `add`, `drop`, or `retype` from the old type to the new one."""

    kind: str
    name: str
    type: str
    before: str | None = None

    @property
    def is_breaking(self) -> bool:
        """Whether readers of the column may fail."""
        return self.kind != "add"

    def __str__(self) -> str:
        if self.kind == "retype":
            return f"~ {self.name} {self.before} -> {self.type}"
        return f"{'+' if self.kind == 'add' else '-'} {self.name} {self.type}"


def check_contract(step: Step, made: Schema) -> None:
    """`Invalid` unless the columns that a step makes are exactly those that `schema=` says."""
    if step.schema is None:
        return
    wanted = schema_of(step.schema)
    expected = {folded_column(field.name): str(field.type) for field in wanted.fields}
    found = {folded_column(field.name): str(field.type) for field in made.fields}
    problems = [
        *(f"{name} is missing" for name in expected if name not in found),
        *(f"{name} is not in it" for name in found if name not in expected),
        *(
            f"{name} is {found[name]} instead of {expected[name]}"
            for name in expected
            if name in found and found[name] != expected[name]
        ),
    ]
    if problems:
        raise Invalid(
            f"the rows break the step's contract: {'; '.join(problems)}",
            subject=f"step {step.name}",
            expected=_shown(wanted),
            found=_shown(made),
            advice="Change the function, or its schema=.",
        )


def column_changes(step: Step, table: Table[Any], made: Schema) -> list[ColumnChange]:
    """How a table has to change to hold what a step makes; `Invalid` if the step's `evolve` does not allow it."""
    changes = list(_changes(table.schema, made, drops=step.write.mode not in ("upsert", "merge", "scd2")))
    for change in changes:
        if step.evolve == "fail" or (step.evolve == "add" and change.is_breaking):
            raise Invalid(
                f"the step's columns have changed: {change}",
                subject=f"step {step.name}, table {table.name}",
                expected=_shown(table.schema),
                found=_shown(made),
                advice='With evolve="replace" the table follows the step.'
                if step.evolve == "add"
                else 'With evolve="add" new columns are added, with evolve="replace" the table follows the step.',
            )
    return changes


def evolve_table(table: Table[Any], changes: list[ColumnChange], made: Schema) -> None:
    """Change a table's columns, in the transaction that the handle is of."""
    by_name = {folded_column(field.name): field for field in made.fields}
    with table.evolve() as change:
        for one in changes:
            if one.kind in ("drop", "retype"):
                change.drop_column((one.name,))
            if one.kind == "retype":
                change.add_column((one.name,), by_name[folded_column(one.name)].type)
    added = new_columns(table.schema, made)
    if added:
        with table.evolve() as change:
            for path, type in added:
                change.add_column(path, type)


def _changes(old: Schema, made: Schema, *, drops: bool) -> Iterator[ColumnChange]:
    known = {folded_column(field.name): field for field in old.fields}
    given = {folded_column(field.name): field for field in made.fields}
    for name, field in given.items():
        if name not in known:
            yield ColumnChange("add", field.name, str(field.type))
        elif not _fits(str(field.type), str(known[name].type)):
            if new_columns(Schema([known[name]]), Schema([field])):
                yield ColumnChange("add", field.name, str(field.type))
            else:
                yield ColumnChange("retype", known[name].name, str(field.type), str(known[name].type))
    for name, field in known.items():
        if name not in given and drops:
            yield ColumnChange("drop", field.name, str(field.type))


_WIDER = {"int": {"long"}, "float": {"double"}, "date": {"timestamp"}}


def _fits(made: str, kept: str) -> bool:
    """Whether a column can hold what is made without a change."""
    if made == kept or kept in _WIDER.get(made, ()):
        return True
    return made.partition("(")[0] == kept.partition("(")[0] == "decimal"


def _shown(schema: Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema.fields)
