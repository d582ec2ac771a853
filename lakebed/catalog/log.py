"""The log of a line: its commits, and those of its ancestors before it forked away."""

from collections.abc import Iterator
from datetime import datetime

from lakebed.catalog.commits import Commit, commit_of
from lakebed.catalog.moments import microseconds
from lakebed.catalog.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import AttributeRead, DataRead
from lakebed.records.layout import Attribute
from lakebed.store import Version

PAGE = 200
_ATTRIBUTES = (Attribute.LIFE, Attribute.PROPERTIES, Attribute.SCHEMA, Attribute.STORAGE)


def log(
    work: Work,
    *,
    limit: int | None = None,
    object_id: str | None = None,
    author: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
) -> list[Commit]:
    """The commits, newest first; both times are inclusive."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise Invalid("a limit is a whole number", expected="0 or more", found=repr(limit))
    first = None if since is None else microseconds(since)
    last = None if until is None else microseconds(until)
    found: list[Commit] = []
    for commit in _pages(work, object_id, author, first, last, min(PAGE, limit or PAGE)):
        if len(found) == limit:
            break
        found.append(commit)
    return found


def read_all(work: Work, object_id: str, partition: str | None = None) -> None:
    """Count everything about an object as read: who asks for its last commit relies on that there is no later one."""
    for attribute in _ATTRIBUTES:
        work.read(AttributeRead(object_id, attribute))
    if partition is not None:
        work.read(DataRead(partition))


def newest_commit(work: Work, object_id: str | None = None) -> Version | None:
    """The version of the last commit to the line, or to one of its objects; None without any."""
    commits = log(work, limit=1, object_id=object_id)
    return commits[0].version if commits else None


def _pages(
    work: Work, object_id: str | None, author: str | None, since: int | None, until: int | None, size: int
) -> Iterator[Commit]:
    token: str | None = None
    while True:
        page = work.reader.log(object_id=object_id, author=author, since=since, until=until, limit=size, token=token)
        yield from (commit_of(one) for one in page.items)
        token = page.token
        if token is None:
            return
