"""Arguments that many words take."""

from collections.abc import Callable
from typing import Any

import click

Decorated = Callable[..., Any]

where = click.option("--where", metavar="CONDITION", help="Only rows that pass, such as \"id > 3 and region = 'eu'\".")
table = click.argument("table", metavar="TABLE")
name = click.argument("name", metavar="NAME")


def limit(default: int | None, noun: str = "rows") -> Callable[[Decorated], Decorated]:
    """`-n`: how many are shown."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=0),
        default=default,
        show_default=default is not None,
        help=f"At most this many {noun}.",
    )


def typed_column(text: str) -> tuple[str, str]:
    """A column's name and type: `id:long`."""
    name, colon, type = text.partition(":")
    if not colon or not name or not type:
        raise click.UsageError(f"{text!r} is not COLUMN:TYPE, such as id:long.")
    return name, type


def described(function: Decorated) -> Decorated:
    """What a word that commits takes: why, who, and an id that makes it safe to run it again."""
    return _described(function, "-m", "--message")


def described_at_length(function: Decorated) -> Decorated:
    """The same for `branch`, whose `-m` renames, as git has it."""
    return _described(function, "--message")


def _described(function: Decorated, *message: str) -> Decorated:
    for option in (
        click.option("--event-id", metavar="UUID", help="Run again with the same id, it changes nothing more."),
        click.option("--author", help="Who; else you."),
        click.option(*message, help="Why, for the log."),
    ):
        function = option(function)
    return function
