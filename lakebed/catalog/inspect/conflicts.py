"""The system table of the conflicts that merging would meet."""

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
    every, catalog = refs_of(work), work.ref.catalog
    found = [(TRUNK, catalog), *((child.name, child.id) for child, _ in every.of_kind(pb.BRANCH))]
    wanted = [(name, line) for name, line in found if line != work.ref.line.id and keep({"source": name})]
    for (name, _), source in zip(wanted, open_lines(work.context, catalog, [line for _, line in wanted]), strict=True):
        ours = Work(work.context, work.ref, work.base)
        for one in dry_run(ours, Head(source, work.base), Settle.FAIL, share_keys_by_bounds).conflicts:
            yield name, one.object_id, one.name, one.type, one.what, one.base, one.ours, one.theirs


CONFLICTS = SystemTable(
    "__conflicts",
    "What merging each of the catalog's other branches into this one would not settle by itself.",
    columns(
        ("source", "string", "the branch that would be merged"),
        ("object_id", "string", "the object's id"),
        ("name", "string", "the object's name"),
        ("type", "string", "what kind of object it is"),
        ("what", "string", "what of it both sides changed"),
        ("base", "string", "what it was when they parted"),
        ("ours", "string", "what it is here"),
        ("theirs", "string", "what it is there"),
    ),
    _conflict_rows,
)
