"""The system table of the conflicts that merges would find."""

from collections.abc import Iterator

from lakebed.catalog.inspect.refs import refs_of
from lakebed.catalog.inspect.system_table import Keep, Row, SystemTable, columns
from lakebed.catalog.merge.logs import Logs
from lakebed.catalog.merge.merge import dry_run
from lakebed.catalog.merge.merge_base import Head, Reached
from lakebed.catalog.merge.settling import Settling
from lakebed.catalog.transaction.context import TRUNK, Ref
from lakebed.catalog.transaction.lines import open_lines
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb


def _conflict_rows(work: Work, keep: Keep) -> Iterator[Row]:
    ours, logs = Work(work.context, work.ref, work.base), Logs(work.context, work.ref.catalog)
    for name, source in _sources(work, keep, Reached(logs, Head(work.ref, work.base))):
        for conflict in dry_run(ours, Head(source, work.base), Settling(), logs).conflicts:
            yield (
                name,
                conflict.object_id,
                conflict.name,
                conflict.type,
                conflict.what,
                str(conflict.base),
                str(conflict.ours),
                str(conflict.theirs),
            )


def _sources(work: Work, keep: Keep, ours: Reached) -> Iterator[tuple[str, Ref]]:
    """The other branches that have anything to merge. All heads are read at once, and ours is walked back once."""
    catalog = work.ref.catalog
    branches = [(TRUNK, catalog), *((child.name, child.id) for child, _ in refs_of(work).of_kind(pb.BRANCH))]
    wanted = [(name, line) for name, line in branches if line != work.ref.line.id and keep({"source": name})]
    lines = open_lines(work.context, catalog, [line for _, line in wanted])
    heads = work.context.metastore.heads([ref.line for ref in lines], work.base)
    for (name, _), ref, head in zip(wanted, lines, heads, strict=True):
        if head is not None and not ours.has(head):
            yield name, ref


CONFLICTS = SystemTable(
    "__conflicts",
    "The conflicts that merging each of the catalog's other branches into this one would find.",
    columns(
        ("source", "string", "the source branch"),
        ("object_id", "string", "the object's id"),
        ("name", "string", "the object's name"),
        ("type", "string", "the kind of the object"),
        ("what", "string", "the part of it that both sides changed"),
        ("base", "string", "its value at the merge base"),
        ("ours", "string", "its value on this branch"),
        ("theirs", "string", "its value on the source branch"),
    ),
    _conflict_rows,
)
