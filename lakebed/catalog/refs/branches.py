"""Branches: lines that forked from another line at a version. The catalog's ref line lists them."""

from collections.abc import Iterator
from functools import partial

from lakebed.catalog.refs import refs
from lakebed.catalog.refs.catalogs import first_version
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import TRUNK, Context, Ref
from lakebed.catalog.transaction.lines import check_kept, open_line, open_lines, trunk
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import AttributeRead, Line
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing, folded
from lakebed.store import Version


def create_branch(context: Context, parent: Ref, name: str, at: Version | None, request: Request) -> Ref:
    """Fork a line: one commit of a few rows, however much the catalog holds.

    At an earlier version even a dropped branch can be forked, until it is purged.
    """
    made: dict[str, Ref] = {}

    def do(work: Work) -> None:
        version = fixed_version(work, parent, at)
        branch = refs.create(work, pb.BRANCH, name, _fork_record(work, parent, version))
        made[branch] = Ref(parent.catalog, parent.line.fork(branch, version))

    branch = refs.ref_scope(context, parent).change(do, request).operations[0].object_id
    return made[branch] if branch in made else open_line(context, parent.catalog, branch)


def fixed_version(work: Work, parent: Ref, at: Version | None) -> Version:
    """The version that a ref to a line will stand for, by default the newest; the line must not be purged."""
    if at is None:
        rely_on(work, parent)
        return work.base
    check_kept(work.context, parent)
    work.read(AttributeRead(parent.line.id, Attribute.LIFE))
    check_readable(work.context, parent, at, work.base)
    return at


def rely_on(work: Work, parent: Ref) -> None:
    """Refuse a line that was dropped, and conflict with a concurrent drop."""
    if not parent.is_trunk:  # the trunk is dropped with its catalog, which every commit checks
        work.read(AttributeRead(parent.line.id, Attribute.LIFE))
        work.path(parent.line.id)


def find_branch(context: Context, ref: Ref, name: str) -> Ref:
    """The branch of this name in a catalog, or `NotFound`; the trunk is called main."""
    if refs.is_trunk(name):
        return trunk(context, ref.catalog)
    return open_line(context, ref.catalog, refs.find(refs.ref_scope(context, ref).read(), pb.BRANCH, name))


def branches(context: Context, ref: Ref, prefix: str = "") -> list[Ref]:
    """A catalog's branches, the trunk first, in a few round trips."""
    found = [child.id for child in refs.listed(refs.ref_scope(context, ref).read(), pb.BRANCH, prefix)]
    first = [ref.catalog] if TRUNK.startswith(folded(prefix, Casing.FOLDED)) else []
    return open_lines(context, ref.catalog, first + found)


def purge_branch(context: Context, ref: Ref, name: str, branch: str | None, request: Request) -> Commit:
    """Purge a dropped branch on which no ref depends. A second call continues where it stopped.

    After that nobody can read the branch. Its rows are erased, unless another line has merged it: its state at that
    merge is the base of later merges.
    """
    commit = refs.purge(refs.ref_scope(context, ref), pb.BRANCH, name, branch, request)
    line = commit.operations[0].object_id
    if line not in _bases(context, ref):
        context.metastore.erase_line(line)
    return commit


def _bases(context: Context, ref: Ref) -> set[str]:
    """The lines that any line of the catalog, purged or not, has merged, and the ancestors that those read."""
    lines = [ref.catalog, *every_branch(context, ref)]
    merged = {parent.line for line in lines for parent in _merged_heads(context, ref, line)}
    seen_through = {at.line for line in merged for at in open_line(context, ref.catalog, line).line.ancestry}
    return merged | seen_through


def every_branch(context: Context, ref: Ref) -> Iterator[str]:
    """The ids of all branches that a catalog ever had, dropped and purged ones too."""
    reader = context.metastore.reader(ref.refs)
    live, gone = every(partial(reader.children, ref.catalog)), every(partial(reader.dropped, ref.catalog))
    yield from (child.id for child in live if child.type == pb.BRANCH)
    yield from (row.id for row in gone if row.type == pb.BRANCH)


def _merged_heads(context: Context, ref: Ref, line: str) -> Iterator[LineAt]:
    """The other sides of a line's merges, which are logged as changes of the catalog itself."""
    reader = context.metastore.reader(Line(line, ref.catalog))
    for commit in every(partial(reader.log, object_id=ref.catalog)):
        yield from commit.parents[1:]


def branch_name(context: Context, ref: Ref) -> str:
    """The name that a line has now."""
    return TRUNK if ref.is_trunk else refs.ref_name(context, ref, ref.line.id)


def check_readable(context: Context, ref: Ref, version: Version, newest: Version) -> None:
    """Refuse a version that does not exist yet, or that is older than the catalog."""
    first = first_version(context, ref.catalog, newest)
    if version > newest:
        raise Invalid("that version does not exist yet", expected=f"version {first} to {newest}", found=version)
    if version < first:
        raise NotFound("the catalog did not exist yet", expected=f"version {first} to {newest}", found=version)


def _fork_record(work: Work, parent: Ref, version: Version) -> pb.CatalogRecord:
    return pb.CatalogRecord(
        parent_type=pb.BRANCH,
        parent_project_id=work.context.project,
        parent_id=parent.line.id,
        parent_version=version,
        ancestry=[pb.LineVersion(line_id=at.line, version=at.version) for at in parent.line.sight(version)],
        casing=parent.line.casing,
    )
