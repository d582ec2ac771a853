"""Answers of words: a table on a terminal, tab-separated values in a pipe, lines of JSON if they are asked for."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any, TextIO

import click

from lakebed.catalog.transaction.commits import Commit
from lakebed.cli.folding import NO_BREAK, folded_for
from lakebed.cli.settings import Settings
from lakebed.cli.values import exact_text, json_line, plain_text, safe_text, styled, terminal_text
from lakebed.errors import Invalid

Place = Callable[[], tuple[str, Any, bool] | None]
"""Answers the line's address, its version, and whether it was switched to."""

SHOWN = 1_000
"""How many rows of data a terminal's table has at most."""


class Output:
    """Where a word's answer goes, and in which form."""

    def __init__(self, settings: Settings, place: Place) -> None:
        self.is_json = settings.json
        self.is_quiet = settings.quiet
        self.says_yes = settings.yes
        self.is_terminal = _is_terminal(sys.stdout) and not settings.json
        self._place = place
        self._is_headed = False

    def rows(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, paged: bool = False) -> None:
        """Rows about the lake, with their line as `on` in JSON."""
        if self.is_json:
            on = self._on()
            for row in rows:
                self._write(json_line({**dict(zip(columns, row, strict=True)), "on": on}))
        elif self.is_quiet:
            for row in rows:
                self._write(plain_text(row[0]))
        elif self.is_terminal:
            self._head()
            self._table([name.replace("_", " ") for name in columns], list(rows), terminal_text, paged)
        else:
            self._separated(columns, rows)

    def data(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Rows of a table or a query: in JSON nothing but their columns; on a terminal times are themselves."""
        if self.is_json:
            for row in rows:
                self._write(json_line(dict(zip(columns, row, strict=True))))
        elif self.is_terminal:
            self._head()
            found = list(islice(rows, SHOWN + 1))
            self._table(columns, found[:SHOWN], exact_text, False)
            if len(found) > SHOWN:
                self.note(f"the first {SHOWN:,} rows; in a pipe or with --json, all")
        else:
            self._separated(columns, rows)

    def record(self, fields: Mapping[str, object], shown: Mapping[str, object] | None = None) -> None:
        """One object: its fields, of which people see `shown`."""
        if self.is_json:
            self._write(json_line({**fields, "on": self._on()}))
            return
        self._head()
        visible = shown or fields
        width = max(map(len, visible), default=0)
        for name, value in visible.items():
            if self.is_terminal:
                self._write(f"{name.replace('_', ' '):<{width}}  {terminal_text(value)}".rstrip())
            else:
                self._write(f"{name}\t{plain_text(value)}")

    def commit(self, commit: Commit | None, said: str, unchanged: str = "", **more: object) -> None:
        """A change that was made, in a sentence; None or a commit without an id changed nothing, which is said by
        `unchanged`.
        """
        done = commit is not None and bool(commit.id)
        if self.is_json:
            self._write(json_line({**commit_fields(commit if done else None), **more, "on": self._on()}))
        elif not self.is_quiet:
            self._head()
            if commit is not None and done:
                self._write(safe_text(f"version {commit.version}: {said}"))
            else:
                self._write(safe_text(f"nothing changed{unchanged and f': {unchanged}'}"))

    def text(self, text: str, *, paged: bool = False) -> None:
        """Text for people, in every form but JSON."""
        self._head()
        if paged and self.is_terminal:
            _terminal().page(safe_text(text))
        else:
            self._write(safe_text(text) if self.is_terminal else text)

    def line(self, name: str, text: str) -> None:
        """A line below a record: indented on a terminal, with its name in a pipe."""
        if self.is_terminal:
            self._write(folded_for(sys.stdout, f"  {safe_text(text)}"))
        else:
            self._write(f"{name}\t{plain_text(text)}")

    def sentences(self, text: str) -> None:
        """Text for people in long lines, in every form but JSON."""
        self.text(folded_for(sys.stdout, text) if self.is_terminal else text)

    def fitted(self, line: str) -> str:
        """A line that a terminal does not wrap."""
        return str(_terminal().fitted(line, shutil.get_terminal_size().columns)) if self.is_terminal else line

    def drawn(self, text: str, *, paged: bool = False) -> None:
        """Text of a terminal, with colours."""
        self._head()
        if paged:
            _terminal().page(text)
        else:
            click.echo(text)

    @contextmanager
    def working(self, what: str, rows: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show on a terminal that something takes long; it is called with the rows that are done, if all are known."""
        if self.is_json or self.is_quiet or not _is_terminal(sys.stderr):
            yield lambda done: None
            return
        with _terminal().progress(what, rows) as done:
            yield done

    def json(self, value: Mapping[str, object]) -> None:
        """An object of its own shape."""
        self._write(json_line({**value, "on": self._on()}))

    def note(self, text: str) -> None:
        """Something beside the answer, unless it is to be quiet."""
        if not self.is_quiet and not self.is_json:
            click.echo(styled(safe_text(text), dim=True), err=True)

    def noted_list(self, title: str, texts: Iterable[str]) -> None:
        """A list beside the answer, which a terminal breaks between two texts and not within one."""
        line = f"{title}: {', '.join(text.replace(' ', NO_BREAK) for text in texts)}"
        self.note((folded_for(sys.stderr, line) if _is_terminal(sys.stderr) else line).replace(NO_BREAK, " "))

    def confirm(self, question: str) -> None:
        """Ask before something is destroyed; `Invalid` where nobody can answer."""
        if self.says_yes:
            return
        if not _is_terminal(sys.stdin):
            raise Invalid(
                "this has to be confirmed, and there is no terminal to ask on",
                found=question,
                advice="To confirm it, add --yes.",
            )
        if not click.confirm(safe_text(question), err=True):
            raise click.exceptions.Exit(1)

    def close(self) -> None:
        """Say where the word worked, if it was switched to and the answer has not said so."""
        found = None if self.is_terminal or self.is_json or self.is_quiet else self._place()
        if found is not None and found[2]:
            self.note(f"on {found[0]}")

    def flush(self) -> None:
        """Let whoever reads a pipe or a log see what was written so far."""
        sys.stdout.flush()

    def skip_head(self) -> None:
        """Show no line that says where this is: what comes says it."""
        self._is_headed = True

    def _on(self) -> str | None:
        found = self._place()
        return None if found is None else found[0]

    def _head(self) -> None:
        """Before the first line on a terminal: where this is."""
        if self._is_headed or not self.is_terminal or self.is_quiet:
            return
        self._is_headed = True
        found = self._place()
        if found is not None:
            version = "" if found[1] is None else f" #{found[1]}"
            click.echo(styled(safe_text(f"{found[0]}{version}"), dim=True))

    def _table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], as_text: Callable[[object], str], paged: bool
    ) -> None:
        if rows:
            _terminal().table(columns, rows, as_text, shutil.get_terminal_size().columns, paged)
        else:
            self.note("(none)")

    def _separated(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        if not self.is_quiet:
            self._write("\t".join(map(plain_text, columns)))
        for row in rows:
            self._write("\t".join(map(plain_text, row)))

    def _write(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody sees what is written, or answers; a stream that the shell closed (`>&-`) is None."""
    return stream is not None and stream.isatty()


def _terminal() -> Any:
    """What draws with rich, which takes longer to load than most words take to answer."""
    return import_module("lakebed.cli.terminal")


def commit_fields(commit: Commit | None) -> dict[str, object]:
    """A commit's keys in JSON; all absent if nothing was changed."""
    if commit is None:
        return dict.fromkeys(("version", "id", "time", "author", "message", "operations"))
    return {
        "version": commit.version,
        "id": commit.id,
        "time": commit.time,
        "author": commit.author,
        "message": commit.message,
        "operations": [
            {"type": one.type, "name": one.name, "detail": one.detail, "counts": dict(sorted(one.counts.items()))}
            for one in commit.operations
        ],
    }
