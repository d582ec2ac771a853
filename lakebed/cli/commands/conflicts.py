"""The word for a merge in progress: conflicts."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import click

from lakebed.catalog.merge.progress import from_json
from lakebed.catalog.merge.settling import AnyConflict
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.conflicts import RowConflict, value_text
from lakebed.cli import arguments
from lakebed.cli.addresses import parse_typed
from lakebed.cli.column_types import Types, types_of
from lakebed.cli.decisions import SIDES, parsed_decision
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.texts import text_of_file
from lakebed.cli.values import counted, json_line
from lakebed.errors import Conflict, Invalid, NotFound
from lakebed.lake.merging.progress import MergeInProgress

_COLUMNS = ("id", "name", "type", "what", "key", "columns", "base", "ours", "theirs", "decision")


def conflict_fields(one: AnyConflict) -> dict[str, object]:
    """A conflict of a merge, without a decision."""
    is_row = isinstance(one, RowConflict)
    return {
        "name": one.name,
        "type": one.type,
        "what": one.what,
        "key": dict(one.key) if isinstance(one, RowConflict) else None,
        "columns": list(one.columns) if isinstance(one, RowConflict) else None,
        **{side: _side(getattr(one, side), is_row) for side in ("base", "ours", "theirs")},
    }


def _side(value: Any, is_row: bool) -> object:
    return None if value is None else dict(value) if is_row else str(value)


@word(
    "lakebed conflicts",
    "lakebed conflicts --theirs 1a2b",
    "lakebed conflicts --ours all",
    "lakebed conflicts --edit",
    "lakebed conflicts --finish -m 'merged by hand'",
    "lakebed conflicts --abandon",
)
@click.option("--ours", multiple=True, metavar="ID", help="Keep what this branch has, for one conflict or for all.")
@click.option("--theirs", multiple=True, metavar="ID", help="Take what the other branch has, for one or for all.")
@click.option("--row", nargs=2, multiple=True, metavar="ID JSON", help="Decide on a row of your own.")
@click.option("--decide", metavar="FILE", help="Take decisions from lines of JSON, as `--json` writes them.")
@click.option("--edit", is_flag=True, help="Write decisions in your editor.")
@click.option("--finish", is_flag=True, help="Merge with all decisions, in one commit.")
@click.option("--abandon", is_flag=True, help="Forget the merge.")
@arguments.described
@with_session
def conflicts_word(
    session: Session,
    ours: tuple[str, ...],
    theirs: tuple[str, ...],
    row: tuple[tuple[str, str], ...],
    decide: str | None,
    edit: bool,
    finish: bool,
    abandon: bool,
    **by: Any,
) -> None:
    """List the conflicts of the merge in progress, decide them, and finish or abandon it."""
    merge = session.line.merge_in_progress()
    source = _source(merge)
    if abandon:
        session.output.commit(merge.abandon(**by), f"forgot the merge of {source}")
        return
    decisions = _decisions(session, merge, ours, theirs, row, decide, edit)
    if decisions:
        merge.decide(decisions, **({} if finish else by))
        session.output.note(f"decided {counted(len(decisions), 'conflict')}")
    if finish:
        session.output.commit(_finished(merge, by), f"merged {source}")
    elif not decisions or session.output.is_json:
        _list(session, merge)
    else:
        _say_left(session, merge)


def _finished(merge: MergeInProgress, by: dict[str, Any]) -> Commit | None:
    try:
        return merge.finish(**by).commit
    except Conflict as error:
        error.advice = "Decide them first: `lakebed conflicts --ours ID`, or --theirs ID, or --edit."
        raise


def _source(merge: MergeInProgress) -> str:
    try:
        return merge.source
    except NotFound as error:
        error.advice = "`lakebed merge REF --keep-conflicts` begins one."
        raise


def _numbered(merge: MergeInProgress) -> list[dict[str, Any]]:
    """All conflicts, as `merge` shows them; their ids are hashes that can be typed, `full_id` is the lake's own."""
    return [
        {**_decoded(row), "id": blake2b(row["id"].encode(), digest_size=4).hexdigest(), "full_id": row["id"]}
        for row in merge.to_arrow().to_pylist()
    ]


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """A conflict with its rows as objects, and not as texts of JSON; what is not about a row has texts."""
    choice = row["decision"]
    decision = choice if choice is None or choice in SIDES else from_json(choice)
    if row["key"] is None:
        return {**row, "decision": decision}
    rows = {side: row[side] and from_json(row[side]) for side in ("base", "ours", "theirs")}
    return {**row, **rows, "key": from_json(row["key"]), "columns": row["columns"].split(", "), "decision": decision}


def _list(session: Session, merge: MergeInProgress) -> None:
    rows = _numbered(merge)
    shown = [tuple(row[name] for name in _COLUMNS) for row in rows]
    if session.output.is_terminal:
        for one in rows:
            _describe(session, one)
        _say_left(session, merge)
    else:
        session.output.rows(_COLUMNS, shown)


def _describe(session: Session, one: dict[str, Any]) -> None:
    """A conflict for people: of a row its key, and on each side the columns in dispute."""
    key = None if one["key"] is None else _cells(one["key"])
    head = f"{one['id']}  {one['type']} {one['name']}: {one['what']} {key or ''}".rstrip()
    sides = [(side, _side_text(one, side)) for side in ("base", "ours", "theirs", "decision")]
    session.output.text("\n".join([head, *(f"  {side:<8}  {text}" for side, text in sides if text is not None)]))


def _side_text(one: dict[str, Any], side: str) -> str | None:
    value: str | dict[str, object] | None = one[side]
    if one["key"] is None or isinstance(value, str):
        return value  # type: ignore[return-value]
    if value is None:
        return "deleted" if side in SIDES else None
    return _cells(value, one["columns"])


def _cells(row: Mapping[str, object], disputed: Sequence[str] = ()) -> str:
    """The columns in dispute, or all: `price = 9.5, note = 'a'`."""
    names = [name for name in disputed if name in row] or list(row)
    return ", ".join(f"{name} = {value_text(row[name])}" for name in names)


def _say_left(session: Session, merge: MergeInProgress) -> None:
    left = len(merge.conflicts)
    if left:
        session.output.note(
            f"{counted(left, 'conflict')} to decide: lakebed conflicts --ours ID, --theirs ID or --edit"
        )
    else:
        session.output.note("all are decided: lakebed conflicts --finish")


def _decisions(
    session: Session,
    merge: MergeInProgress,
    ours: tuple[str, ...],
    theirs: tuple[str, ...],
    row: tuple[tuple[str, str], ...],
    file: str | None,
    edit: bool,
) -> list[dict[str, Any]]:
    if not (ours or theirs or row or file or edit):
        return []
    conflicts = _numbered(merge)
    chosen: list[tuple[str, Any]] = [(one, "ours") for one in ours] + [(one, "theirs") for one in theirs] + list(row)
    if file is not None:
        chosen += _parsed(text_of_file(file))
    if edit:
        chosen += _edited(conflicts)
    return [
        {"id": one["full_id"], "decision": parsed_decision(choice, _types(session, one))}
        for text, choice in chosen
        for one in _meant(conflicts, text)
    ]


def _types(session: Session, one: dict[str, Any]) -> Types:
    """The types of the columns of the table whose row a conflict is of."""
    return {} if one["key"] is None else types_of(session.line.table(parse_typed(one["name"]).name).schema)


def _meant(conflicts: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The conflicts that a text means: all, or the one whose id begins with it."""
    found = [one for one in conflicts if text == "all" or one["id"].startswith(text)]
    if not found:
        raise NotFound("there is no such conflict", subject=text, advice="`lakebed conflicts` lists their ids.")
    if len(found) > 1 and text != "all":
        raise Invalid(
            "several conflicts begin like this",
            subject=text,
            found=counted(len(found), "conflict"),
            advice="Type more of it.",
        )
    return found


def _edited(conflicts: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """The decisions that somebody typed into the lines of the conflicts."""
    lines = [json_line({name: one[name] for name in _COLUMNS}) for one in conflicts]
    text = click.edit("\n".join(lines) + "\n", extension=".jsonl", require_save=True)
    return [] if text is None else _parsed(text)


def _parsed(text: str) -> list[tuple[str, Any]]:
    """The ids and decisions of lines of JSON; lines without a decision are left out."""
    return [
        (row["id"], row["decision"])
        for row in map(_line, filter(str.strip, text.splitlines()))
        if row.get("decision") is not None
    ]


def _line(text: str) -> dict[str, Any]:
    """A line of JSON with the id of a conflict, and perhaps a decision."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_a_decision(str(error)) from None
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise _not_a_decision(f"{text:.80}")
    return row


def _not_a_decision(found: str) -> Invalid:
    expected = 'an object with "id" and "decision"'
    return Invalid("a decision is a line of JSON", expected=expected, found=found, advice="Nothing was decided.")
