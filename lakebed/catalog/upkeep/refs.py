"""What the refs of all catalogs show: which tables are there by name, and which files are live."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from lakebed.catalog.data.live_files import files_of_tables
from lakebed.catalog.inspect.levels import every_holder
from lakebed.catalog.objects.walk import loaded, objects_of_kind
from lakebed.catalog.tables.tables import table_states
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import open_line, trunk
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.visibility import visible_states
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import ROOT
from lakebed.metastore.kinds import type_name
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class Shown:
    """A ref of a catalog, and the state that it shows."""

    catalog: str
    name: str
    kind: str
    ref: Ref
    version: Version
    is_dropped: bool

    @property
    def text(self) -> str:
        """As `lake.catalog` takes it."""
        return f"{self.catalog}@{self.name}"


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table that a ref shows, and the paths of its live files and vectors."""

    id: str
    name: str
    paths: frozenset[str]


def every_ref(context: Context) -> Iterator[Shown]:
    """All branches and tags of all catalogs of all projects, dropped ones too, at the newest version."""
    newest = context.metastore.newest()
    reader = context.metastore.reader(ROOT, newest)
    projects = [child.id for child in every(partial(reader.children, ROOT.top))]
    for parent in projects:
        live = [(child.id, child.name, False) for child in every(partial(reader.children, parent))]
        gone = [
            (row.id, row.name, True) for row in every(partial(reader.dropped, parent)) if row.drop_type != pb.PURGED
        ]
        for catalog, name, is_dropped in [*live, *gone]:
            yield from _refs_of(context, catalog, name, is_dropped, newest)


def _refs_of(context: Context, catalog: str, name: str, is_dropped: bool, newest: Version) -> Iterator[Shown]:
    first = trunk(context, catalog)
    reader = context.metastore.reader(first.refs, newest)
    children = list(every(partial(reader.children, catalog)))
    alive = {first.line.id, *(child.id for child in children)}
    tags = {child.name for child in children if child.type == pb.TAG}
    for state in visible_states(context, first, newest):
        if state.kind == pb.BRANCH and state.version != newest:
            continue  # a branch at its fork: its parent's past
        ref = open_line(context, catalog, state.line.id)
        is_there = ref.line.id in alive if state.kind == pb.BRANCH else state.name in tags
        yield Shown(name, state.name, type_name(state.kind), ref, state.version, is_dropped or not is_there)


def last_names(context: Context, tables: Iterable[str]) -> dict[str, str]:
    """The names that tables have, or had when they were dropped, by id: on a branch that is there, if possible."""
    names: dict[str, str] = {}
    wanted = list(dict.fromkeys(tables))
    for shown in sorted(every_ref(context), key=lambda shown: shown.is_dropped):
        work = Work(context, shown.ref, shown.version)
        left = [table for table in wanted if table not in names]
        work.load((table, Attribute.LIFE) for table in left)
        names.update((table, name) for table in left if (name := last_name(work, table)))
    return names


def live_tables(context: Context, shown: Shown) -> Iterator[LiveTable]:
    """The tables that a ref shows, with their live files."""
    work = Work(context, shown.ref, shown.version)
    for batch in loaded(work, objects_of_kind(work, pb.TABLE)):
        held = [(holder, named) for named in batch for holder in every_holder(work, named.id)]
        states = table_states(work, [holder for holder, _ in held])
        for (holder, named), files in zip(held, files_of_tables(work, states), strict=True):
            entries = [live.file for live in files.all(context).values()]
            paths = {file.path for file in entries} | {file.dv_path for file in entries if file.dv_path}
            yield LiveTable(str(holder), named.name, frozenset(paths))
