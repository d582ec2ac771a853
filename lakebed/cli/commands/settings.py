"""The word for properties: set."""

from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word


@word(
    "lakebed set sales.orders",
    "lakebed set sales.orders owner=ada comment='all orders'",
    "lakebed set sales.orders --unset owner",
    "lakebed set views.trusted=false",
)
@click.argument("name", required=False)
@click.argument("properties", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--unset", multiple=True, metavar="KEY", help="Remove a property.")
@arguments.described
@with_session
def set_word(
    session: Session, name: str | None, properties: tuple[str, ...], unset: tuple[str, ...], **by: Any
) -> None:
    """Show the properties of an object, or set and unset some; without a name, those of the catalog."""
    if name is not None and "=" in name:
        properties, name = (name, *properties), None
    found: Any = session.line if name is None else session.object(name)
    given = dict(map(_property, properties))
    if given and unset:
        raise click.UsageError("Set and unset in two calls: each is a commit.")
    if given:
        session.output.commit(found.set_properties(given, **by), f"set {', '.join(given)} of {name or 'the catalog'}")
    elif unset:
        commit = found.unset_properties(list(unset), **by)
        session.output.commit(commit, f"unset {', '.join(unset)} of {name or 'the catalog'}")
    else:
        session.output.rows(("property", "value"), sorted(found.properties.items()))


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"{text!r} is not KEY=VALUE.")
    return key, value
