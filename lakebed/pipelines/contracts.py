"""Contracts: the columns that a step has to make, and how its table may change to hold what it makes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lakebed.errors import Invalid
from lakebed.lake.arguments import schema_of
from lakebed.lake.table import Table
from lakebed.pipelines.expectations import Expectation, expect
from lakebed.pipelines.steps import Step
from lakebed.table.schema.evolution import new_columns, widens
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Decimal, Type

Kind = Literal["add", "widen", "drop", "retype"]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """What becomes of a column: it is added, gets a wider type that holds its values, goes, or gets another type."""

    kind: Kind
    name: str
    type: str
    before: str | None = None

    @property
    def is_breaking(self) -> bool:
        """Whether readers of the column may fail."""
        return self.kind in ("drop", "retype")

    def __str__(self) -> str:
        if self.before is not None:
            return f"~ {self.name} {self.before} -> {self.type}"
        return f"{'+' if self.kind == 'add' else '-'} {self.name} {self.type}"


def contract(step: Step, table: str) -> Schema | None:
    """The columns that a step says it makes for a table; None if it does not say."""
    given = step.schema.get(table) if len(step.outputs) > 1 and step.schema is not None else step.schema
    return None if given is None else schema_of(given)


def check_contract(step: Step, table: str, made: Schema) -> None:
    """`Invalid` unless the columns that a step makes for a table are exactly those that `schema=` says."""
    wanted = contract(step, table)
    if wanted is None:
        return
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
            subject=f"step {step.name}, table {table}",
            expected=_shown(wanted),
            found=_shown(made),
            advice="Change the function, or its schema=.",
        )


def never_null(step: Step, table: str) -> tuple[Expectation, ...]:
    """What a step's contract expects of rows: no null in a required column."""
    wanted = contract(step, table)
    required = [] if wanted is None else [field.name for field in wanted.fields if field.required]
    return tuple(expect(f"`{name.replace('`', '``')}` IS NOT NULL", name=f"{name} is required") for name in required)


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


def check_kept_values(step: Step, table: Table[Any], changes: Sequence[ColumnChange]) -> None:
    """`Invalid` if rows that stay would lose the values of a column that gets another type."""
    lost = next((change for change in changes if change.kind == "retype"), None)
    if lost is not None:
        raise Invalid(
            f"old rows would lose their values of a column that gets another type: {lost}",
            subject=f"step {step.name}, table {table.name}",
            advice=f"Make all rows again: full_refresh={step.name!r}.",
        )


def evolve_table(table: Table[Any], changes: Sequence[ColumnChange], made: Schema) -> None:
    """Change a table's columns, in the transaction that the handle is of. New ones come before old ones go."""
    wanted = {folded_column(field.name): field for field in made.fields}
    gone = [one.name for one in changes if one.kind == "drop"]
    with table.evolve() as change:
        for one in changes:
            if one.kind == "widen":
                change.widen_column((one.name,), wanted[folded_column(one.name)].type)
            elif one.kind == "retype":
                gone.append(f"{one.name}__before")
                change.rename_column((one.name,), gone[-1])
    with table.evolve() as change:
        for path, type in new_columns(table.schema, made):
            change.add_column(path, type)
        for name in gone:
            change.drop_column((name,))


def _changes(old: Schema, made: Schema, *, drops: bool) -> Iterator[ColumnChange]:
    known = {folded_column(field.name): field for field in old.fields}
    given = {folded_column(field.name): field for field in made.fields}
    for name, field in given.items():
        if name not in known:
            yield ColumnChange("add", field.name, str(field.type))
            continue
        kept = known[name]
        before = str(kept.type)
        if _holds(kept.type, field.type):
            continue
        if widens(kept.type, field.type):
            yield ColumnChange("widen", kept.name, str(field.type), before)
        elif new_columns(Schema([kept]), Schema([field])):
            yield ColumnChange("add", field.name, str(field.type))
        else:
            yield ColumnChange("retype", kept.name, str(field.type), before)
    for name, field in known.items():
        if name not in given and drops:
            yield ColumnChange("drop", field.name, str(field.type))


def _holds(kept: Type, made: Type) -> bool:
    """Whether a column holds all values that are made without a change."""
    if isinstance(kept, Decimal) and isinstance(made, Decimal):
        return made.scale <= kept.scale and made.precision - made.scale <= kept.precision - kept.scale
    return str(kept) == str(made) or widens(made, kept)


def _shown(schema: Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema.fields)
