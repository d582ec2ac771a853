"""What a shell completes after a word: names of the lake, and files."""

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from lakebed.catalog.inspect.registry import SYSTEM_TABLES
from lakebed.cli.session import Session, name_of
from lakebed.cli.settings import Settings
from lakebed.errors import LakebedError

Names = Callable[[Session], Iterable[str]]


def _tables(session: Session) -> Iterator[str]:
    return map(name_of, session.line.tables(recursive=True))


def _namespaces(session: Session) -> Iterator[str]:
    return map(name_of, session.line.namespaces(recursive=True))


def _objects(session: Session) -> Iterator[str]:
    yield from _tables(session)
    yield from map(name_of, session.line.views(recursive=True))
    yield from _namespaces(session)


def _branches(session: Session) -> Iterator[str]:
    return (branch.ref for branch in session.line.branches())


def _tags(session: Session) -> Iterator[str]:
    return (tag.ref for tag in session.line.tags())


def _refs(session: Session) -> Iterator[str]:
    yield from _branches(session)
    yield from _tags(session)
    yield from (share.ref for share in session.line.shares())


def _dropped(session: Session) -> Iterator[str]:
    return (one.name for one in session.lake.dropped())


def _system_tables(_: Session) -> Iterable[str]:
    return SYSTEM_TABLES


_NAMES: dict[tuple[str, str], Names] = {
    ("", "table"): _tables,
    ("", "name"): _objects,
    ("", "on"): _refs,
    ("ls", "namespace"): _namespaces,
    ("branch", "name"): _branches,
    ("tag", "name"): _tags,
    ("switch", "ref"): _refs,
    ("merge", "source"): _refs,
    ("diff", "first"): _refs,
    ("diff", "second"): _refs,
    ("diff", "name"): _tables,
    ("lineage", "name"): _tables,
    ("undrop", "name"): _dropped,
    ("purge", "name"): _dropped,
    ("inspect", "what"): _system_tables,
}
"""(word, parameter) -> its names; the word is empty where all words mean the same."""

_FILES = {"source": "file", "path": "file", "file": "file", "folder": "dir", "lake": "dir"}
"""parameter -> what a shell completes by itself."""


def teach(command: click.Command) -> None:
    """Let the parameters of a word complete what they take."""
    for parameter in command.params:
        names = _NAMES.get((command.name or "", str(parameter.name))) or _NAMES.get(("", str(parameter.name)))
        kind = None if names else _FILES.get(str(parameter.name))
        if names is not None:
            parameter.shell_complete = _completing(names)  # type: ignore[assignment]
        elif kind is not None:
            parameter.shell_complete = _leaving(kind)  # type: ignore[assignment]


def _completing(names: Names) -> Callable[[click.Context, str], list[CompletionItem]]:
    def complete(context: click.Context, begun: str) -> list[CompletionItem]:
        session = Session(context.ensure_object(Settings))
        try:
            return [CompletionItem(name) for name in names(session) if name.startswith(begun)]
        except LakebedError:  # no lake, or a damaged one: the word itself says so
            return []
        finally:
            session.close()

    return complete


def _leaving(kind: str) -> Callable[[click.Context, str], list[CompletionItem]]:
    return lambda context, begun: [CompletionItem(begun, type=kind)]
