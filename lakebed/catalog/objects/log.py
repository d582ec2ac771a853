"""The log of a line: its commits, and those of its ancestors from before it forked."""

from dataclasses import dataclass
from datetime import date

from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.objects import ATTRIBUTES
from lakebed.catalog.transaction.versions import microseconds
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import AttributeRead, DataRead
from lakebed.store import Version

PAGE = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """Which commits are asked for; both times are inclusive."""

    object_id: str | None = None
    author: str | None = None
    since: date | str | None = None
    until: date | str | None = None


ALL = Asked()


def log(work: Work, asked: Asked = ALL) -> list[Commit]:
    """All commits that match, newest first."""
    found, token = log_page(work, PAGE, asked)
    while token is not None:
        page, token = log_page(work, PAGE, asked, token)
        found += page
    return found


def log_page(work: Work, limit: int, asked: Asked = ALL, token: str | None = None) -> tuple[list[Commit], str | None]:
    """Some commits, newest first, and the token of the next page; None after the last."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise Invalid("a limit is a whole number", expected="0 or more", found=repr(limit))
    if asked.author is not None and not isinstance(asked.author, str):
        raise Invalid("an author is text", expected="str", found=repr(asked.author))
    if token is not None and not isinstance(token, str):
        raise Invalid("a page token is text", expected="the token of a page", found=repr(token))
    if limit == 0:
        return [], token
    page = work.reader.log(
        object_id=asked.object_id,
        author=asked.author,
        since=None if asked.since is None else microseconds(asked.since),
        until=None if asked.until is None else microseconds(asked.until),
        limit=limit,
        token=token,
    )
    return [commit_of(stored) for stored in page.items], page.token


def read_all(work: Work, object_id: str, partition: str | None = None) -> None:
    """Count all attributes of an object as read: its last commit stays its last only if nobody changes any of them."""
    for attribute in ATTRIBUTES:
        work.read(AttributeRead(object_id, attribute))
    if partition is not None:
        work.read(DataRead(partition))


def version_back(work: Work, commits: int, first: Version | None = None, object_id: str | None = None) -> Version:
    """The version before the newest commits of the line, or of those that changed an object: 1 is that before the last.

    Before all of the commits is `first`. `NotFound` if there are not as many.
    """
    found, token = log_page(work, min(commits + 1, PAGE), Asked(object_id))
    while token is not None and len(found) <= commits:
        page, token = log_page(work, PAGE, Asked(object_id), token)
        found += page
    versions: list[Version] = [*(commit.version for commit in found), *(() if first is None else (first,))]
    if commits < len(versions):
        return versions[commits]
    raise NotFound(
        "there are not as many commits",
        expected=f"at least {1 - len(versions)}",
        found=-commits,
        advice="log() lists the commits of a catalog, history() those of a table.",
    )


def newest_commit(work: Work, object_id: str | None = None) -> Version | None:
    """The version of the last commit to the line or to an object; None if there is none."""
    commits, _ = log_page(work, 1, Asked(object_id))
    return commits[0].version if commits else None
