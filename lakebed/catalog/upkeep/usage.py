"""What a lake's files take: by table, by the version that added them, and by what holds them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from lakebed.catalog.inspect.system_table import VERSION, columns
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.upkeep.orphans import orphans
from lakebed.catalog.upkeep.references import FileKind, Reference, every_reference
from lakebed.catalog.upkeep.refs import Shown, every_ref, last_names, live_tables
from lakebed.errors import NotFound
from lakebed.files.external import is_external
from lakebed.store import Version


class Hold(Enum):
    """Why a file is kept, the strongest reason first."""

    LIVE = "live"  # a branch or tag shows its rows
    HISTORY = "history"  # only earlier versions have it
    DROPPED = "dropped"  # only dropped tables, branches or catalogs have it: undrop brings them back
    METADATA = "metadata"  # manifests and checkpoints
    OUTSIDE = "outside"  # added in place: it is not in the lake's folder
    ORPHANED = "orphaned"  # nothing refers to it
    CATALOG = "catalog"  # the records, with inline rows


CATALOG_FILES = ("catalog.db", "catalog.db-wal", "catalog.db-newest")

SCHEMA = columns(
    ("table_name", "string", "the name that the table has, or had when it was dropped; null for files of no table"),
    ("table_uuid", "string", "the table's id"),
    ("version", VERSION, "the commit that added the files"),
    ("held_by", "string", "live, history, dropped, metadata, outside, orphaned or catalog"),
    ("refs", "list<string>", "the branches and tags that show the files"),
    ("files", "long", "how many"),
    ("bytes", "long", "their total size"),
)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Files of one table and version that are held in the same way. `refs` are the branches and tags that show them."""

    table: str | None
    table_id: str | None
    version: Version | None
    hold: Hold
    refs: tuple[str, ...]
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What the refs show: which tables are there at all, and for each path the refs that show it."""

    alive: frozenset[str]
    refs: Mapping[str, tuple[str, ...]]


def usage_rows(context: Context) -> list[UsageRow]:
    """Each file of the lake once, summed up by table, version and what holds it."""
    references = _first_references(every_reference(context))
    known = _shown(context)
    names = last_names(context, [one.table for one in references.values()])
    sums: dict[tuple[str | None, Version | None, Hold, tuple[str, ...]], list[int]] = defaultdict(list)
    for one in references.values():
        refs = known.refs.get(one.path, ())
        size = _size(context, one.path)
        if size is not None:
            sums[one.table, one.version, _hold(one, refs, known), refs].append(size)
    for path in orphans(context, references):
        size = _size(context, path)
        if size is not None:
            sums[None, None, Hold.ORPHANED, ()].append(size)
    for path in CATALOG_FILES:
        size = _size(context, path)
        if size is not None:
            sums[None, None, Hold.CATALOG, ()].append(size)
    rows = [
        UsageRow(names.get(table or ""), table, version, hold, refs, len(sizes), sum(sizes))
        for (table, version, hold, refs), sizes in sums.items()
    ]
    return sorted(rows, key=_order)


def _first_references(references: Iterator[Reference]) -> dict[str, Reference]:
    """By path, the reference of the first version: the one that added the file."""
    first: dict[str, Reference] = {}
    for one in references:
        known = first.get(one.path)
        if known is None or one.version < known.version:
            first[one.path] = one
    return first


def _shown(context: Context) -> _Known:
    alive: set[str] = set()
    refs: dict[str, list[str]] = defaultdict(list)
    for shown in every_ref(context):
        for table in () if shown.is_dropped else live_tables(context, shown):
            alive.add(table.id)
            for path in table.paths:
                refs[path].append(_short(shown))
    return _Known(frozenset(alive), {path: tuple(sorted(set(found))) for path, found in refs.items()})


def _short(shown: Shown) -> str:
    return shown.name if shown.catalog == "default" else shown.text


def _hold(one: Reference, refs: Sequence[str], known: _Known) -> Hold:
    if is_external(one.path):
        return Hold.OUTSIDE
    if one.kind in (FileKind.MANIFEST, FileKind.CHECKPOINT):
        return Hold.METADATA
    if refs:
        return Hold.LIVE
    return Hold.HISTORY if one.table in known.alive else Hold.DROPPED


def _size(context: Context, path: str) -> int | None:
    """A file's size; None if it is gone, which `check` reports."""
    try:
        return context.files.size(path)
    except NotFound:
        return None


def _order(row: UsageRow) -> tuple[object, ...]:
    version = 0 if row.version is None else int(row.version)
    return row.table is None, row.table or "", row.table_id or "", version, row.hold.value, row.refs
