"""The log of a whole lake: the commits of all catalogs and branches, dropped ones too, and those of refs."""

from collections.abc import Iterator
from functools import partial
from heapq import merge
from itertools import islice

from lakebed.catalog.objects.log import PAGE, Asked
from lakebed.catalog.refs.branches import every_branch
from lakebed.catalog.refs.catalogs import every_catalog
from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.versions import microseconds
from lakebed.errors import Invalid
from lakebed.metastore import ROOT, Line
from lakebed.metastore import Commit as StoredCommit
from lakebed.metastore.pages import every


def lake_log(context: Context, limit: int | None, asked: Asked) -> list[Commit]:
    """The commits of a lake's project that match, newest first; a round trip for each line, at least."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise Invalid("a limit is a whole number", expected="0 or more", found=repr(limit))
    lines = [ROOT, *(line for catalog in every_catalog(context) for line in _lines(context, catalog))]
    page = PAGE if limit is None else max(1, min(limit, PAGE))
    merged = merge(*(_own(context, line, asked, page) for line in lines), key=lambda one: one.version, reverse=True)
    return [commit_of(stored) for stored in islice(merged, limit)]


def _lines(context: Context, catalog: str) -> Iterator[Line]:
    """The lines that a catalog ever had, without what they forked from: each commit is on one of them."""
    ref = Ref(catalog, Line(catalog, catalog))
    yield from (ref.refs, ref.line)
    yield from (Line(branch, catalog) for branch in every_branch(context, ref))


def _own(context: Context, line: Line, asked: Asked, page: int) -> Iterator[StoredCommit]:
    reader = context.metastore.reader(line)
    since, until = (None if time is None else microseconds(time) for time in (asked.since, asked.until))
    found = every(partial(reader.log, author=asked.author, since=since, until=until, limit=page))
    return (stored for stored in found if stored.project == context.project)
