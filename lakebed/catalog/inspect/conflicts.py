"""The system table of the conflicts that merges would find."""

from collections.abc import Iterator

from lakebed.catalog.inspect.refs import refs_of
from lakebed.catalog.inspect.system_table import Keep, Row, SystemTable, columns
from lakebed.catalog.merge.merge import dry_run
from lakebed.catalog.merge.merge_base import Head
from lakebed.catalog.merge.objects import share_keys_by_bounds
from lakebed.catalog.transaction.context import TRUNK
from lakebed.catalog.transaction.lines import open_lines
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.table.merge.strategy import Settle


def _conflict_rows(work: Work, keep: Keep) -> Iterator[Row]:
    refs, catalog = refs_of(work), work.ref.catalog
    branches = [(TRUNK, catalog), *((child.name, child.id) for child, _ in refs.of_kind(pb.BRANCH))]
    wanted = [(name, line) for name, line in branches if line != work.ref.line.id and keep({"source": name})]
    for (name, _), source in zip(wanted, open_lines(work.context, catalog, [line for _, line in wanted]), strict=True):
        ours = Work(work.context, work.ref, work.base)
        for conflict in dry_run(ours, Head(source, work.base), Settle.FAIL, share_keys_by_bounds).conflicts:
            yield (
                name,
                conflict.object_id,
                conflict.name,
                conflict.type,
                conflict.what,
                conflict.base,
                conflict.ours,
                conflict.theirs,
            )


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
