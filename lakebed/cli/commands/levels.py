"""The words for the levels below a table: edition, stream, partition."""

from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word
from lakebed.lake.table import Table


@word(
    "lakebed edition sales.orders",
    "lakebed edition sales.orders --create 2 --column id:long --column price:double",
    "lakebed edition sales.orders --activate 2",
    "lakebed edition sales.orders --state 2=beta",
    "lakebed edition sales.orders --drop 1",
)
@arguments.table
@click.option("--create", metavar="NAME", help="Create an empty edition beside the active one.")
@click.option("--column", multiple=True, metavar="COLUMN:TYPE", help="A column of it; without any, the active one's.")
@click.option("--activate", metavar="NAME", help="Let readers see this edition.")
@click.option(
    "--state", metavar="NAME=STATE", help="Mark one that is not active: created, unreleased, beta, deprecated."
)
@click.option("--drop", metavar="NAME", help="Drop an edition that is not active.")
@click.option("--undrop", metavar="NAME", help="Bring a dropped edition back.")
@arguments.described
@with_session
def edition_word(
    session: Session,
    table: str,
    create: str | None,
    column: tuple[str, ...],
    activate: str | None,
    state: str | None,
    drop: str | None,
    undrop: str | None,
    **by: Any,
) -> None:
    """List the editions of a table; create, activate, drop or undrop one."""
    found = session.table(table)
    if create is not None:
        schema = dict(map(arguments.typed_column, column)) or None
        found.create_edition(create, schema, **by)
        session.output.note(f"created edition {create}: write to {name_of(found)}.edition_{create}")
    elif activate is not None:
        session.output.commit(found.activate(activate, **by), f"readers of {name_of(found)} see edition {activate}")
        return
    elif state is not None:
        name, sign, new = state.rpartition("=")
        if not sign:
            raise click.UsageError(f"{state!r} is not NAME=STATE.")
        session.output.commit(found.set_edition_state(name, new, **by), f"edition {name} is {new}")
        return
    elif drop is not None:
        session.output.commit(found.drop_edition(drop, **by), f"dropped edition {drop}")
        session.output.note(f"undo: {session.typed(session.place, 'edition', table, '--undrop', drop)}")
        return
    elif undrop is not None:
        session.output.commit(found.undrop_edition(undrop, **by), f"edition {undrop} is back")
        return
    columns = ("name", "state", "rows", "version", "time", "id")
    session.output.rows(columns, [tuple(getattr(one, name) for name in columns) for one in found.editions()])


@word(
    "lakebed stream sales.orders",
    "lakebed stream sales.orders --stage",
    "lakebed stream sales.orders --commit ID",
)
@arguments.table
@click.option("--stage", is_flag=True, help="Stage an empty stream: fill it by its name, like a table.")
@click.option("--commit", metavar="ID", help="Replace all rows of the table by those of a staged stream.")
@click.option("--seen", metavar="VERSION", help="With --commit: the version of the table whose rows the stream has.")
@click.option("--discard", metavar="ID", help="Give a staged stream up.")
@click.option("--undrop", metavar="ID", help="Bring back one that was given up.")
@arguments.described
@with_session
def stream_word(
    session: Session,
    table: str,
    stage: bool,
    commit: str | None,
    seen: str | None,
    discard: str | None,
    undrop: str | None,
    **by: Any,
) -> None:
    """List the streams of a table; stage, commit, discard or undrop one."""
    found = session.table(table)
    if stage:
        staged = found.stage_stream(**by)
        session.output.note(f"staged {staged.stream_id}: write to {name_of(staged)}")
    elif commit is not None:
        answer = found.stream(commit).commit(seen, **by)
        session.output.commit(answer, f"the rows of {name_of(found)} are those of stream {commit}")
        return
    elif discard is not None:
        session.output.commit(found.stream(discard).discard(**by), f"discarded stream {discard}")
        session.output.note(f"undo: lakebed stream {table} --undrop {discard}")
        return
    elif undrop is not None:
        session.output.commit(found.undrop_stream(undrop, **by), f"stream {undrop} is back")
        return
    columns = ("id", "format", "state", "rows", "version")
    session.output.rows(columns, [tuple(getattr(one, name) for name in columns) for one in found.streams()])


@word(
    "lakebed partition sales.orders",
    "lakebed partition sales.orders --create dt=2026-11-01",
    "lakebed partition sales.orders --drop dt=2026-11-01",
)
@arguments.table
@click.option("--create", metavar="VALUES", help="Make rows with these values a partition: dt=2026-11-01,region=eu.")
@click.option("--location", metavar="FOLDER", help="With --create: a folder of files that become its own.")
@click.option("--drop", metavar="VALUES", help="Drop a partition with its rows.")
@click.option("--undrop", metavar="VALUES", help="Bring a dropped partition back.")
@arguments.described
@with_session
def partition_word(
    session: Session,
    table: str,
    create: str | None,
    location: str | None,
    drop: str | None,
    undrop: str | None,
    **by: Any,
) -> None:
    """List the partitions of a table: the root, then those with values of their own; create, drop or undrop one."""
    found = session.table(table)
    if create is not None:
        found.create_partition(_values(create), location=location, **by)
        session.output.note(f"created partition {create}")
    elif drop is not None:
        session.output.commit(found.drop_partition(_values(drop), **by), f"dropped partition {drop}")
        session.output.note(f"undo: {session.typed(session.place, 'partition', table, '--undrop', drop)}")
        return
    elif undrop is not None:
        session.output.commit(found.undrop_partition(_values(undrop), **by), f"partition {undrop} is back")
        return
    _list_partitions(session, found)


def _list_partitions(session: Session, table: Table[Any]) -> None:
    rows = [
        (one.name or "(root)", one.state, one.count(), len(one.files()), one.size, one.location, one.id)
        for one in table.partitions()
    ]
    session.output.rows(("name", "state", "rows", "files", "bytes", "location", "id"), rows)


def _values(text: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in text.split(",")]
    if not all(name and sign for name, sign, _ in pairs):
        raise click.UsageError(f"{text!r} is not COLUMN=VALUE, or several of them with commas between.")
    return {name: value for name, _, value in pairs}
