"""A table follows the columns of a source of another format: what the source has changed since the version before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lakebed.catalog.data.foreign import ForeignVersion
from lakebed.catalog.tables import evolution
from lakebed.catalog.tables.evolution import Step
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.scopes import Open
from lakebed.errors import Invalid
from lakebed.lake.evolve import Evolve
from lakebed.lake.imports.answer import Misfit
from lakebed.table.schema.evolution import widens
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import ELEMENT, KEY, VALUE, Field, Fields, List, Map, Struct, children_of

Path = tuple[str, ...]

REPLACED = " (replaced)"
"""What a column's name ends with, inside of one commit, whose name another column gets."""

Pair = tuple[Field, Field]
"""A field of a source, and the table's."""


def follow(scope: Open, table: str, before: ForeignVersion, after: ForeignVersion) -> list[Misfit]:
    """Change the table's columns as the source's were changed between two versions; what can't be is a misfit."""
    by_ids = bool(after.last_id)
    if by_ids != bool(before.last_id):
        return [Misfit("its columns", "the source began to know its columns by ids: import it into a new table")]
    changes = _Changes(by_ids)
    changes.compare(before.fields, after.fields, table_state(scope.read(), table).schema.fields, ())
    steps = [*changes.others, *changes.drops]
    if before.partition_by != after.partition_by:
        again = evolution.partition_by(after.partition_by)
        steps = [evolution.partition_by(()), *changes.others, again, *changes.drops]
    if changes.misfits or not steps:
        return changes.misfits
    try:
        with Evolve(table, scope, None, None, None) as change:
            for step in steps:
                change._add(step)
    except Invalid as error:
        return [Misfit(error.subject, f"the source changed it, and the table can't: {error.problem} {error.advice}")]
    return []


@dataclass(slots=True)
class _Changes:
    """The steps that make a source's earlier columns its later ones.

    Columns are dropped last, because a table needs at least one, and renamed before if another gets their name.
    """

    by_ids: bool
    others: list[Step] = field(default_factory=list)
    drops: list[Step] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)

    def compare(self, before: Fields, after: Fields, own: Fields, path: Path) -> None:
        """The fields of one struct, which the table has at a path."""
        earlier = {self._key(each): each for each in before}
        later = {self._key(each) for each in after}
        mine = {each.id if self.by_ids else folded_column(each.name): each for each in own}
        names = {folded_column(each.name) for each in after}
        for key, each in earlier.items():
            kept = mine.get(self._own_key(each))
            if key not in later and kept is not None:
                self._drop((*path, kept.name), is_named_again=folded_column(kept.name) in names)
        for each in after:
            was = earlier.get(self._key(each))
            if was is None:
                self._add((*path, each.name), each)
            elif (kept := mine.get(self._own_key(was))) is not None:
                name = kept.name
                if each.name != was.name and kept.name == was.name:
                    self.others.append(evolution.rename_column((*path, kept.name), each.name))
                    name = each.name
                self._change(was, each, kept, (*path, name))

    def _change(self, was: Field, each: Field, kept: Field, path: Path) -> None:
        if isinstance(was.type, Struct) and isinstance(each.type, Struct) and isinstance(kept.type, Struct):
            self.compare(was.type.fields, each.type.fields, kept.type.fields, path)
        elif isinstance(was.type, List | Map) and type(was.type) is type(each.type) is type(kept.type):
            parts = zip(*(children_of(one.type) for one in (was, each, kept)), strict=True)
            for first, second, own in parts:
                self._change(first, second, own, (*path, own.name))
        elif was.type != each.type and not self._retype(each, kept, path):
            return
        if was.required and not each.required and kept.required:
            self.others.append(evolution.make_optional(path))
        if was.comment != each.comment:
            self.others.append(evolution.set_comment(path, each.comment))

    def _retype(self, each: Field, kept: Field, path: Path) -> bool:
        """Give a column another type; False if it becomes another column, or can't."""
        if widens(kept.type, each.type):
            self.others.append(evolution.widen_column(path, each.type))
            return True
        if self.by_ids or kept.name in (ELEMENT, KEY, VALUE):
            self.misfits.append(Misfit(".".join(path), f"the source made it {each.type}, and it is {kept.type}"))
        else:
            self._drop(path, is_named_again=True)
            self._add(path, each)
        return False

    def _drop(self, path: Path, *, is_named_again: bool) -> None:
        if is_named_again:
            aside = f"{path[-1]}{REPLACED}"
            self.others.append(evolution.rename_column(path, aside))
            path = (*path[:-1], aside)
        self.drops.append(evolution.drop_column(path))

    def _add(self, path: Path, each: Field) -> None:
        if self.by_ids:
            self.others.append(evolution.adopt_column(path, each))
        else:
            step = evolution.add_column(
                path, each.type, required=False, default=None, comment=each.comment, position=None
            )
            self.others.append(step)

    def _key(self, each: Field) -> int | str:
        return each.id if self.by_ids else each.physical_name or each.name

    def _own_key(self, each: Field) -> int | str:
        return each.id if self.by_ids else folded_column(each.name)


def matched(source: Fields, own: Fields, by_ids: bool) -> Iterator[Pair]:
    """The fields of a source that a table has, on every level, with the table's."""
    known = {field.id if by_ids else folded_column(field.name): field for field in own}
    for each in source:
        found = known.get(each.id if by_ids else folded_column(each.name))
        if found is not None:
            yield from _matched_inside(each, found, by_ids)


def _matched_inside(each: Field, found: Field, by_ids: bool) -> Iterator[Pair]:
    yield each, found
    if isinstance(each.type, Struct) and isinstance(found.type, Struct):
        yield from matched(each.type.fields, found.type.fields, by_ids)
    elif type(each.type) is type(found.type):
        for part, own in zip(children_of(each.type), children_of(found.type), strict=True):
            yield from _matched_inside(part, own, by_ids)


def names_in_files(version: ForeignVersion, schema: Schema) -> Mapping[int, tuple[str, ...]]:
    """(the table's field id) -> what the source's files call the field."""
    return {
        own.id: (*version.names.get(each.id, ()), each.physical_name or each.name)
        for each, own in matched(version.fields, schema.fields, bool(version.last_id))
    }
