"""Closed branches: a branch that somebody still works on as a whole, such as a pipeline's run, says why it is closed.

Its reason is a property of the branch itself, in the ref line: it is neither forked nor merged.
"""

from lakebed.catalog.objects.properties import properties_of, put_properties, read_properties
from lakebed.catalog.refs.refs import all_refs, name_of, ref_scope
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Forbidden
from lakebed.metastore import Operation
from lakebed.records.layout import Attribute

CLOSED = "closed"
"""The property of a branch that says why nobody should fork or merge it."""


def close_branch(context: Context, ref: Ref, reason: str) -> None:
    """Close a branch; one that is closed gets another reason."""

    def do(work: Work) -> None:
        branch = ref.line.id
        put_properties(work, branch, {**properties_of(work, branch), CLOSED: reason})
        work.note(Operation("set_properties", branch, name_of(work, branch), detail=CLOSED))

    ref_scope(context, ref).change(do, Request("set_properties", (ref.line.id, {CLOSED: reason})))


def check_open(context: Context, ref: Ref, *, force: bool) -> None:
    """`Forbidden` for a branch that is closed, unless the caller insists."""
    if force or ref.is_trunk:
        return
    work = all_refs(context, ref)
    record = work.attribute(ref.line.id, Attribute.PROPERTIES)  # of a dropped branch too: its past can be forked
    reason = None if record is None else read_properties(record).get(CLOSED)
    if reason is not None:
        raise Forbidden(
            f"the branch is closed: {reason}",
            subject=name_of(work, ref.line.id),
            advice="Its state is not finished. Read it as it is, or pass force=True.",
        )
