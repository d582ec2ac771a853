"""The log of a whole lake: the commits of all catalogs and branches, and those that made, renamed and dropped them."""

from collections.abc import Iterator
from functools import partial
from heapq import merge
from itertools import islice

from lakebed.catalog.objects.log import PAGE, Asked
from lakebed.catalog.refs.branches import branches
from lakebed.catalog.refs.catalogs import catalogs
from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.versions import microseconds
from lakebed.errors import Invalid
from lakebed.metastore import ROOT, Line
from lakebed.metastore import Commit as StoredCommit
from lakebed.metastore.pages import every


def lake_log(context: Context, limit: int | None, asked: Asked) -> list[Commit]:
    """The commits of a lake's project that match, newest first; a round trip for each line, at least."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise Invalid("a limit is a whole number", expected="0 or more", found=repr(limit))
    lines = [ROOT]
    for ref in catalogs(context):
        lines += [ref.refs, *(branch.line for branch in branches(context, ref))]
    page = PAGE if limit is None else max(1, min(limit, PAGE))
    merged = merge(*(_own(context, line, asked, page) for line in lines), key=lambda one: one.version, reverse=True)
    return [commit_of(stored) for stored in islice(_each_once(merged), limit)]


def _own(context: Context, line: Line, asked: Asked, page: int) -> Iterator[StoredCommit]:
    reader = context.metastore.reader(line)
    since, until = (None if time is None else microseconds(time) for time in (asked.since, asked.until))
    found = every(partial(reader.log, author=asked.author, since=since, until=until, limit=page))
    return (stored for stored in found if stored.project == context.project)


def _each_once(commits: Iterator[StoredCommit]) -> Iterator[StoredCommit]:
    """Without those that several branches have from before they forked."""
    last = ""
    for commit in commits:
        if commit.id != last:
            yield commit
        last = commit.id
