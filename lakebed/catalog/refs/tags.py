"""Tags: fixed names for a line at a version."""

from lakebed.catalog.refs import refs
from lakebed.catalog.refs.branches import fixed_version
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import open_line, open_lines
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.store import Version


def create_tag(context: Context, line: Ref, name: str, at: Version | None, request: Request) -> str:
    """Name a line's state at a version, by default the newest, and return the tag's id."""

    def do(work: Work) -> None:
        record = pb.CatalogRecord(
            parent_type=pb.TAG,
            parent_project_id=context.project,
            parent_id=line.line.id,
            parent_version=fixed_version(work, line, at),
        )
        refs.create(work, pb.TAG, name, record)

    return refs.ref_scope(context, line).change(do, request).operations[0].object_id


def find_tag(context: Context, ref: Ref, name: str) -> tuple[Ref, Version]:
    """The line and version that a tag of a catalog stands for, or `NotFound`."""
    return open_tag(context, ref, refs.find(refs.ref_scope(context, ref).read(), pb.TAG, name))


def open_tag(context: Context, ref: Ref, tag: str) -> tuple[Ref, Version]:
    """What a tag stands for by its id, dropped or not."""
    record = refs.record_of(refs.all_refs(context, ref), tag)
    return open_line(context, ref.catalog, record.parent_id), Version(record.parent_version)


def tags(context: Context, ref: Ref, prefix: str = "") -> list[tuple[str, Ref, Version]]:
    """The ids of a catalog's tags, by name, with what they stand for, in a few round trips."""
    work = refs.ref_scope(context, ref).read()
    found = [child.id for child in refs.listed(work, pb.TAG, prefix)]
    records = refs.records_of(work, found)
    lines = open_lines(context, ref.catalog, [record.parent_id for record in records])
    return [
        (tag, line, Version(record.parent_version)) for tag, line, record in zip(found, lines, records, strict=True)
    ]
