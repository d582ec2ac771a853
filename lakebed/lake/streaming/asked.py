"""What `read_stream` is asked for."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from lakebed.catalog.refs.shares import Shared, forbidden
from lakebed.catalog.transaction.scopes import Live, Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.errors import Invalid
from lakebed.lake.arguments import check_flag, check_not_staged, version_of
from lakebed.store import Version


class OnChange(Enum):
    """What a stream of new rows does at a commit that updated or deleted rows."""

    FAIL = "fail"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows of a stream: all that are there when a query first begins, or those after `since`, and all that come."""

    since: Version | None
    changes: bool
    max_files: int | None
    max_bytes: int | None
    on_change: OnChange


def asked_stream(
    scope: Scope,
    table: str,
    since: Moment | None,
    changes: bool,
    max_files: int | None,
    max_bytes: int | None,
    on_change: str,
) -> Asked:
    """The arguments, checked."""
    check_not_staged(table, "read_stream()")
    _check_line(scope)
    try:
        found = OnChange(on_change)
    except ValueError:
        raise Invalid(
            "this is not what a stream can do at a change",
            subject="on_change",
            expected=" or ".join(one.value for one in OnChange),
            found=repr(on_change),
            advice="changes=True streams updates and deletes too.",
        ) from None
    limits = _checked("max_files", max_files), _checked("max_bytes", max_bytes)
    if None not in limits:
        raise Invalid("a batch is limited by files or by bytes", expected="max_files or max_bytes", found="both")
    return Asked(_fixed(scope, table, since), check_flag("changes", changes), *limits, found)


def _check_line(scope: Scope) -> None:
    if isinstance(scope, Shared):
        raise forbidden("read_stream")  # it writes files into the lake
    if not isinstance(scope, Live):
        inside = scope.is_transaction
        raise Invalid(
            "a stream follows a branch" if inside else "a table at a version does not change",
            advice="Call read_stream outside of the transaction."
            if inside
            else "Use read(spark), or a branch's table.",
        )
    scope.context.check_writable("read_stream")


def _fixed(scope: Scope, table: str, since: Moment | None) -> Version | None:
    """The version of a moment that is the same whenever the program starts again."""
    if since is None:
        return None
    is_relative = isinstance(since, int) and since < 0
    if is_relative or (isinstance(since, str) and since.strip().endswith("ago")):
        raise Invalid(
            "a stream begins at a moment that stays the same when its program starts again",
            subject="since",
            expected="a version or a time",
            found=repr(since),
        )
    found = version_of(scope, since, table=table)
    newest = scope.read().base
    if found > newest:
        raise Invalid(
            "a stream can't begin in the future", subject="since", found=str(found), expected=f"at most {newest}"
        )
    return found


def _checked(name: str, given: Any) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise Invalid(f"{name} is counted", subject=name, expected="1 or more", found=repr(given))
    return given
