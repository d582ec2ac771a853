"""The word for schemas and layouts: evolve."""

from collections.abc import Iterator

import click

from lakebed.cli import arguments
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word
from lakebed.lake.evolve import Evolve


@word(
    "lakebed evolve sales.orders --add note:string",
    "lakebed evolve sales.orders --rename price=net_price --widen id=long",
    "lakebed evolve sales.orders --drop note -m 'nobody used it'",
    "lakebed evolve sales.orders --partition-by 'day(ordered_at)' --sort-by 'price desc'",
)
@arguments.table
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="Rename a column.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Drop a column.")
@click.option("--add", multiple=True, metavar="COLUMN:TYPE", help="Add a column.")
@click.option("--widen", multiple=True, metavar="COLUMN=TYPE", help="Give a column a wider type.")
@click.option("--optional", multiple=True, metavar="COLUMN", help="Let a column be null.")
@click.option("--comment", multiple=True, metavar="COLUMN=TEXT", help="Describe a column.")
@click.option("--first", multiple=True, metavar="COLUMN", help="Put a column first.")
@click.option("--after", multiple=True, metavar="COLUMN=OTHER", help="Put a column after another.")
@click.option("--primary-key", multiple=True, metavar="COLUMN", help="The columns of the key.")
@click.option("--partition-by", multiple=True, metavar="TERM", help="How new files are partitioned.")
@click.option("--sort-by", multiple=True, metavar="TERM", help="How rows of new files are sorted.")
@arguments.described
@with_session
def evolve_word(
    session: Session,
    table: str,
    message: str | None,
    author: str | None,
    event_id: str | None,
    **asked: tuple[str, ...],
) -> None:
    """Change columns, partitioning, sort order and key, in one commit that rewrites no file.

    Columns are renamed first, then dropped, added and changed.
    """
    if not any(asked.values()):
        raise click.UsageError("Say what to change, such as --add note:string.")
    found = session.table(table)
    with found.evolve(message=message, author=author, event_id=event_id) as change:
        _change_columns(change, asked)
        _change_layout(change, asked)
    session.output.commit(change.committed, f"evolved {name_of(found)}: {', '.join(_said(asked))}")


def _change_columns(change: Evolve, asked: dict[str, tuple[str, ...]]) -> None:
    for old, new in _pairs(asked["rename"], "OLD=NEW"):
        change.rename_column(old, new)
    for column in asked["drop"]:
        change.drop_column(column)
    for column, type in _pairs(asked["add"], "COLUMN:TYPE"):
        change.add_column(column, type)
    for column, type in _pairs(asked["widen"], "COLUMN=TYPE"):
        change.widen_column(column, type)
    for column in asked["optional"]:
        change.make_optional(column)
    for column, text in _pairs(asked["comment"], "COLUMN=TEXT"):
        change.set_comment(column, text)
    for column in asked["first"]:
        change.move_column(column, first=True)
    for column, other in _pairs(asked["after"], "COLUMN=OTHER"):
        change.move_column(column, after=other)


def _change_layout(change: Evolve, asked: dict[str, tuple[str, ...]]) -> None:
    for name in ("primary_key", "partition_by", "sort_by"):
        if asked[name]:
            getattr(change, name)(list(asked[name]))


def _pairs(given: tuple[str, ...], shape: str) -> Iterator[tuple[str, str]]:
    sign = ":" if ":" in shape else "="
    for text in given:
        first, found, second = text.partition(sign)
        if not found or not first:
            raise click.UsageError(f"{text!r} is not {shape}.")
        yield first, second


def _said(asked: dict[str, tuple[str, ...]]) -> Iterator[str]:
    return (f"{name.replace('_', ' ')} {', '.join(values)}" for name, values in asked.items() if values)
