"""The words to begin with: init, status, version, completion."""

import os
import platform
from pathlib import Path
from shlex import join

import click
from click.shell_completion import get_completion_class

from lakebed.cli.example import NAME, example
from lakebed.cli.session import TRUNK, VARIABLE, Session, with_session
from lakebed.cli.settings import COMPLETION, word
from lakebed.cli.values import counted, installed_version
from lakebed.errors import AlreadyExists, NotFound
from lakebed.lake.address import Address, parse_address
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import connect


@word("lakebed init", "lakebed init shop", "lakebed init shop --private", "lakebed init --pipeline")
@click.argument("folder", required=False)
@click.option("--private", is_flag=True, help="No other user can open it.")
@click.option("--pipeline", is_flag=True, help=f"Also write {NAME} into this folder: a pipeline that runs.")
@with_session
def init_word(session: Session, folder: str | None, private: bool, pipeline: bool) -> None:
    """Create a lake in a folder: the one that is named, else that of `--lake` or LAKEBED_LAKE, else this one."""
    if pipeline and Path(NAME).exists():
        raise AlreadyExists("there is such a file", subject=NAME, advice="Rename it, or leave --pipeline out.")
    address = parse_address(folder or session.settings.lake or os.environ.get(VARIABLE) or ".")
    if Address(address.folder, {}).has_lake():
        raise AlreadyExists("there is a lake already", subject=address.folder, advice="`lakebed status` shows it.")
    connect(address.folder, create=True, private=private).close()
    if pipeline:
        Path(NAME).write_text(example(), encoding="utf-8")
    session.settings.lake = address.folder
    if session.output.is_json:
        _show_status(session)
    elif not session.output.is_quiet:
        session.output.text(f"created a lake in {session.folder}")
        session.output.note(f"next: {_next(address.folder, pipeline)}")


def _next(folder: str, pipeline: bool) -> str:
    """The line to go on with; it names the lake unless words find it by themselves."""
    found = parse_address(os.environ.get(VARIABLE) or ".").folder
    where = [] if os.path.realpath(found) == os.path.realpath(folder) else ["--lake", folder]
    return join(["lakebed", *(["run", NAME] if pipeline else ["load", "sales.orders", "orders.csv"]), *where])


@word("lakebed status", "lakebed status --json")
@with_session
def status_word(session: Session) -> None:
    """The lake, the branch, its version, how much there is, and what needs a look."""
    _show_status(session)


def _show_status(session: Session) -> None:
    line = session.line
    merging = _merge_in_progress(line)
    fields: dict[str, object] = {
        "lake": session.folder,
        "catalog": line.name,
        "ref": line.ref,
        "version": line.version,
        "switched": session.switched.place is not None and not session.settings.on,
        "namespaces": len(line.namespaces(recursive=True)),
        "tables": len(line.tables(recursive=True)),
        "views": len(line.views(recursive=True)),
        "branches": len(line.branches()),
        "tags": len(line.tags()),
        "merge_in_progress": merging,
        "format_version": session.lake.format_version,
    }
    notes = _notes(session, line, merging)
    shown = {name: value for name, value in fields.items() if name not in ("switched", "merge_in_progress")}
    session.output.record({**fields, "notes": notes}, {**shown, **({"look": "; ".join(notes)} if notes else {})})


def _merge_in_progress(line: Catalog) -> str | None:
    if line._line.version is not None or line._line.share is not None:
        return None
    try:
        return line.merge_in_progress().source
    except NotFound:
        return None


def _notes(session: Session, line: Catalog, merging: str | None) -> list[str]:
    """What needs a look: a merge to finish, what was done on a branch and is not merged."""
    notes = [f"a merge of {merging} waits for decisions: lakebed conflicts"] if merging else []
    if line.ref != TRUNK and line._line.version is None and line._line.share is None:
        changed = len(line.branch(TRUNK).diff(line))
        notes += [f"differs from main in {counted(changed, 'object')}: lakebed diff main {line.ref}"] if changed else []
    if session.lake.read_only:
        notes.append("the lake is open for reading only")
    return notes


@word("lakebed version")
@with_session
def version_word(session: Session) -> None:
    """The versions of Lakebed and Python."""
    session.output.record({"lakebed": installed_version(), "python": platform.python_version()})


@word(
    'eval "$(lakebed completion bash)"        # in ~/.bashrc',
    'eval "$(lakebed completion zsh)"         # in ~/.zshrc',
    "lakebed completion fish | source         # in ~/.config/fish/config.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_session
def completion_word(session: Session, shell: str) -> None:
    """Print what makes a shell complete words and options."""
    kind = get_completion_class(shell)
    assert kind is not None, "click has these three shells"
    script = kind(click.Command("lakebed"), {}, "lakebed", COMPLETION).source()
    if session.output.is_json:
        session.output.json({"shell": shell, "script": script})
    else:
        session.output.text(script)
