"""CREATE, DROP and UNDROP BRANCH or TAG, MERGE BRANCH, by the calls of handles."""

from lakebed.catalog.merge.merge import MergeResult
from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line
from lakebed.lake.sql.objects.places import catalog_line, check_outside, line_then, pointing, ref_line
from lakebed.spark.sql.objects.refs import CreateRef, DropRef, MergeBranch, RefKind
from lakebed.spark.sql.objects.returns import UndropRef

TRUNK = "@main"
"""Refs are dropped and undropped through the trunk, whatever version the session's own line is at."""


def create_ref(execution: Execution, statement: CreateRef) -> Line:
    """Create a branch or a tag, and answer its handle."""
    check_outside(execution, "create branches and tags")
    line, source = catalog_line(execution, statement.catalog), statement.source
    if source is not None:
        line = ref_line(execution, line, f"@{source.text}", source.word)
    with pointing(execution, statement.ref.word):
        then = line_then(execution, line, statement.moment)
        create = then.create_branch if statement.kind is RefKind.BRANCH else then.create_tag
        return create(statement.ref.text, if_not_exists=statement.if_not_exists, **execution.by.keywords)


def drop_ref(execution: Execution, statement: DropRef) -> Commit | None:
    """Drop a branch or a tag."""
    check_outside(execution, "drop branches and tags")
    line = catalog_line(execution, statement.catalog)._beside(TRUNK)
    drop = line.drop_branch if statement.kind is RefKind.BRANCH else line.drop_tag
    with pointing(execution, statement.ref.word):
        return drop(statement.ref.text, if_exists=statement.if_exists, **execution.by.keywords)


def undrop_ref(execution: Execution, statement: UndropRef) -> Commit:
    """Bring back a dropped branch or tag."""
    check_outside(execution, "undrop branches and tags")
    line = execution.places.line._beside(TRUNK)
    undrop = line.undrop_branch if statement.kind is RefKind.BRANCH else line.undrop_tag
    new_name = None if statement.new_name is None else statement.new_name.text
    with pointing(execution, statement.ref.word):
        return undrop(statement.ref.text, statement.id, new_name, **execution.by.keywords)


def merge_branch(execution: Execution, statement: MergeBranch) -> MergeResult:
    """Merge a branch or tag into another branch, or into the one that the statement is about."""
    check_outside(execution, "merge branches")
    line = catalog_line(execution, statement.catalog)
    source, into = statement.source, statement.target
    target = line if into is None else ref_line(execution, line, f"@{into.text}", into.word)
    theirs = ref_line(execution, line, f"@{source.text}", source.word)
    with pointing(execution, source.word):
        return target.merge(theirs, strategy=statement.strategy or "fail", **execution.by.keywords)
