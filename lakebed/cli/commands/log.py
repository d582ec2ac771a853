"""The words for commits: log, history, show."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import click

from lakebed.catalog.transaction.commits import Commit, deed
from lakebed.cli import arguments
from lakebed.cli.addresses import parse_moment
from lakebed.cli.graph import graph_lines
from lakebed.cli.output import commit_fields
from lakebed.cli.session import TRUNK, Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import ago
from lakebed.errors import NotFound
from lakebed.lake.catalog import Catalog
from lakebed.metastore import Operation
from lakebed.store import Version

_COLUMNS = ("version", "time", "author", "message", "id", "operations")


@word(
    "lakebed log",
    "lakebed log --graph",
    "lakebed log sales.orders -n 5",
    "lakebed log --since yesterday --author ada",
)
@click.argument("name", required=False)
@arguments.limit(None, "commits")
@click.option("--graph", is_flag=True, help="Draw all branches and their merges.")
@click.option("--all", "everywhere", is_flag=True, help="Commits of all catalogs and branches, and of the refs.")
@click.option("--author", help="Commits of this author.")
@click.option("--since", metavar="TIME", help="Commits from this time on.")
@click.option("--until", metavar="TIME", help="Commits up to this time.")
@with_session
def log_word(
    session: Session,
    name: str | None,
    limit: int | None,
    graph: bool,
    everywhere: bool,
    author: str | None,
    since: str | None,
    until: str | None,
) -> None:
    """List the commits of the branch, or those that changed one object; the newest first."""
    if graph:
        _show_graph(session, limit)
    elif everywhere:
        _show(session, session.lake.log(limit, author=author, since=since, until=until))
    else:
        line, table = (session.line, None) if name is None else session.named(name)
        _show(session, line.log(limit, table, author=author, since=since, until=until))


@word("lakebed history sales.orders", "lakebed history sales.orders -n 3")
@arguments.name
@arguments.limit(None, "commits")
@with_session
def history_word(session: Session, name: str, limit: int | None) -> None:
    """List the commits that changed a table, a view or a namespace; the newest first."""
    _show(session, session.object(name).history()[:limit])


def _show(session: Session, commits: Sequence[Commit]) -> None:
    if session.output.is_json:
        for commit in commits:
            session.output.json(commit_fields(commit))
    elif session.output.is_terminal:
        versions = _versions(commits)
        rows = [(one.version, one.time, one.author, _said(one, versions)) for one in commits]
        session.output.rows(("version", "time", "author", "message"), rows, paged=True)
    else:
        versions = _versions(commits)
        found = [(one.version, one.time, one.author, one.message, one.id, _done(one, versions)) for one in commits]
        session.output.rows(_COLUMNS, found)


def _show_graph(session: Session, limit: int | None) -> None:
    line = session.line
    heads = [(one.ref, one.log(limit)) for one in line.branches()]
    tags = {tag.version: tag.ref for tag in line.tags()}
    if session.output.is_json:
        commits = {commit.version: commit for _, log in heads for commit in log}
        for version in sorted(commits, reverse=True)[:limit]:
            session.output.json({**commit_fields(commits[version]), "tag": tags.get(version)})
    else:
        versions = _versions([commit for _, log in heads for commit in log])
        when = ago if session.output.is_terminal else datetime.isoformat
        lines = graph_lines(heads, tags, limit, lambda commit: _said(commit, versions), when)
        session.output.text("\n".join(map(session.output.fitted, lines)), paged=True)


def _versions(commits: Sequence[Commit]) -> dict[str, Version]:
    """The versions of commits by their ids, by which reverts and picks name them."""
    return {commit.id: commit.version for commit in commits}


def _said(commit: Commit, versions: Mapping[str, Version]) -> str:
    """The first line of the message, or what was done."""
    lines = commit.message.strip().splitlines()
    return lines[0] if lines else _done(commit, versions)


def _done(commit: Commit, versions: Mapping[str, Version]) -> str:
    return "; ".join(dict.fromkeys(_deed(one, versions) for one in commit.operations))


def _deed(operation: Operation, versions: Mapping[str, Version]) -> str:
    """What an operation did: to which object; of a revert or a pick, what another commit did."""
    if operation.name:
        return deed(operation)
    verb, detail = operation.type.replace("_", " "), operation.detail
    if operation.type not in ("revert", "cherry_pick"):
        return detail or verb
    return f"{verb} version {versions[detail]}" if detail in versions else f"{verb} {detail}".rstrip()


@word("lakebed show", "lakebed show 17", "lakebed show 3f0c6c1e-5b7c-4f0e-9d53-0a4f1d2f7a10")
@click.argument("commit", required=False, metavar="VERSION_OR_ID")
@with_session
def show_word(session: Session, commit: str | None) -> None:
    """Show one commit, the newest unless another is named, and what it changed."""
    found = find_commit(session, commit)
    line = _line_of(session, found).at(found.version)
    before = [one for one in line.log(limit=2) if one.version < found.version]
    changes = line.at(before[0].version).diff(line) if before else []
    fields = commit_fields(found)
    if session.output.is_json:
        session.output.json({**fields, "changes": [str(one) for one in changes]})
        return
    shown = {name: fields[name] for name in ("version", "id", "time", "author", "message")}
    if session.output.is_terminal:
        shown["time"] = f"{found.time:%Y-%m-%d %H:%M:%S} UTC, {ago(found.time)}"
    session.output.record(shown)
    named = any(one.type in ("revert", "cherry_pick") for one in found.operations)
    versions = _versions(session.lake.log()) if named else {}
    for operation in found.operations:
        counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in sorted(operation.counts.items()))
        session.output.line("operation", f"{_deed(operation, versions)}{f' ({counts})' if counts else ''}")
    for one in changes:
        session.output.line("change", str(one))


def _line_of(session: Session, commit: Commit) -> Catalog:
    """The branch that a commit was made on: a merge brings it to others, whose versions do not change with it."""
    if _is_newest(session.line, commit):
        return session.line
    branches = session.lake.catalog(f"{session.line.name}@{TRUNK}").branches()
    return next((line for line in branches if _is_newest(line, commit)), session.line)


def _is_newest(line: Catalog, commit: Commit) -> bool:
    """Whether a commit was the newest of a line at its version."""
    newest = line.at(commit.version).log(limit=1)
    return bool(newest) and newest[0].id == commit.id


def find_commit(session: Session, given: str | None) -> Commit:
    """The commit of a version of this line, or of an event id on any line; `-1` is the one before the newest."""
    log, text = session.line.log(), given or "-0"
    number = parse_moment(text)
    if isinstance(number, int) and text.startswith("-"):
        found = log[-number:][:1]
    elif isinstance(number, int):
        found = [one for one in log if int(one.version) == number]
        found = found or [one for one in session.lake.log() if int(one.version) == number]
    else:
        found = [one for one in session.lake.log() if one.id == text.lower()]
    if not found and given is None:
        raise NotFound("there is no commit on this line yet", advice="`lakebed log --all` lists those of the lake.")
    if not found:
        raise NotFound("there is no such commit", subject=text, advice="`lakebed log --all` lists the commits.")
    return found[0]
