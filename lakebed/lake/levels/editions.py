"""The calls on a table's editions: rebuilds beside the rows that readers see."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, cast
from uuid import UUID

from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.tables import editions
from lakebed.catalog.tables.editions import NewEdition
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import Layout, table_state
from lakebed.catalog.transaction.bound import Bound, asked_id
from lakebed.catalog.transaction.commits import Answer, Argument, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import Invalid
from lakebed.lake.arguments import SchemaLike, as_paths, as_texts, check_not_staged, order_terms, schema_of, spec_terms
from lakebed.lake.objects import create
from lakebed.lake.shown import Listing, counted
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Path, Schema, with_ids

if TYPE_CHECKING:
    from lakebed.catalog.inspect import levels as listings
    from lakebed.catalog.tables import checks
    from lakebed.catalog.tables import known_properties as known
    from lakebed.store import Version
else:
    listings = deferred("lakebed.catalog.inspect.levels")
    checks = deferred("lakebed.catalog.tables.checks")
    known = deferred("lakebed.catalog.tables.known_properties")


@dataclass(frozen=True, slots=True)
class EditionInfo:
    """One edition of a table, as `editions()` lists it.

    The state is created, unreleased, beta, active or deprecated. `previous` is the name of the edition that was active
    when this one was created, None for the first.
    """

    name: str
    id: str
    state: str
    previous: str | None
    locator: Locator
    version: "Version | None"
    time: datetime | None
    rows: int

    @property
    def canonical(self) -> str:
        """Its canonical string: `sales|orders|2`."""
        return self.locator.canonical

    def __str__(self) -> str:
        return f"edition {self.name} of {self.canonical}: {self.state}, {counted(self.rows, 'row')}"


_Terms = tuple[Iterable[str] | None, Iterable[str] | None, Iterable[Path] | None]
"""Partition spec, sort order and key of an edition, as they are given."""


class Editions(Generic[Answer]):
    """Editions by name: `2` is `sales.orders.edition_2` in SQL."""

    __slots__ = ()

    id: str
    _scope: Scope

    @property
    def locator(self) -> Locator:
        """Where it is among the levels of a lake; `.canonical` is its text: `sales|orders`, of an edition
        `sales|orders|2`.
        """
        return editions.locator_of(self._scope.read(), self.id)

    def editions(self) -> Listing[EditionInfo]:
        """The editions of the table, by name. Every table has one from its birth: `1`."""
        work = self._scope.read()
        rows = listings.edition_rows(work, [editions.table_around(work, self.id)])
        return Listing([EditionInfo(*row.shown) for row in rows if row.state != editions.DELETED])

    def activate(
        self,
        name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Let readers of the table see this edition, by one commit; `activate("1")` goes back.

        The edition that they saw becomes `deprecated`, and keeps its rows. A concurrent append to the table is repeated
        for the new edition.
        """
        check_not_staged(self.id, "activate()")
        request = Request("activate", (asked_id(self.id), name), message, author, event_id)
        return cast("Answer", self._scope.change(lambda work: editions.activate(work, self.id, name), request))

    def set_edition_state(
        self,
        name: str,
        state: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Mark an edition that is not active as `created`, `unreleased`, `beta` or `deprecated`, for people to see."""
        check_not_staged(self.id, "set_edition_state()")
        request = Request("set_edition_state", (asked_id(self.id), name, state), message, author, event_id)
        return cast("Answer", self._scope.change(lambda work: editions.set_state(work, self.id, name, state), request))

    def drop_edition(
        self,
        name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Drop an edition; not the active one. Its name is free at once, its past stays readable."""
        check_not_staged(self.id, "drop_edition()")
        request = Request("drop_edition", (asked_id(self.id), name), message, author, event_id)
        return cast("Answer", self._scope.change(lambda work: editions.drop_edition(work, self.id, name), request))

    def undrop_edition(
        self,
        name: str,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Bring back a dropped edition, with its rows; if several of this name were dropped, `id` selects one."""
        check_not_staged(self.id, "undrop_edition()")
        given = None if id is None else check_id(id)
        request = Request("undrop_edition", (asked_id(self.id), name, given), message, author, event_id)
        return cast(
            "Answer", self._scope.change(lambda work: editions.undrop_edition(work, self.id, name, given), request)
        )


def edition_id(scope: Scope, table: str, name: str) -> str:
    """The id of a handle of an edition, by its name or id."""
    work = scope.read()
    return editions.bound_edition(work, editions.find_edition(work, editions.table_around(work, table), name))


@dataclass(frozen=True, slots=True)
class AskedEdition:
    """An edition to be created, as the caller wrote it; None is as the active edition has it."""

    name: str
    columns: Schema | None
    layout: _Terms
    properties: dict[str, str] | None
    id: str | None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The same as arguments of a request."""
        texts = [None if terms is None else repr(list(terms)) for terms in self.layout]
        columns = None if self.columns is None else schema_to_json(self.columns).decode()
        return self.name, columns, *texts, self.properties, self.id

    def make(self, work: Work, table: str) -> str:
        """Create it, and answer its id."""
        layout = _layout(work, table, self.columns, self.layout)
        new = NewEdition(editions.check_name(self.name), self.columns, layout, self.properties, self.id)
        return editions.create_edition(work, table, _checked(work, table, new))


def asked_edition(
    name: str,
    schema: SchemaLike | None,
    layout: _Terms,
    properties: Mapping[str, str] | None,
    id: str | UUID | None,
) -> AskedEdition:
    """An edition to be created, or `Invalid`."""
    return AskedEdition(
        name,
        None if schema is None else schema_of(schema),
        layout,
        None if properties is None else check_properties(properties),
        None if id is None else check_id(id),
    )


def create_edition(scope: Scope, table: str, asked: AskedEdition, request: Request) -> str:
    """Create an edition, and answer the id of its handle."""
    return Bound(create(scope, lambda work: asked.make(work, table), request))


def check_table(given: str, call: str) -> None:
    """Refuse a call that only a table has, on a handle of an edition or of what is staged."""
    if isinstance(given, Bound):
        raise Invalid(f"an edition can't be {call}", advice="Make the call on a handle of the table.")


def _layout(work: Work, table: str, columns: Schema | None, given: _Terms) -> Layout:
    """The layout as it is given; where it is not, that of the active edition, if its columns are taken too."""
    partition_by, sort_by, key = given
    if columns is None:
        active = table_state(work, editions.table_around(work, table))
        partition_by = spec_terms(active) if partition_by is None else partition_by
        sort_by = order_terms(active) if sort_by is None else sort_by
        key = active.schema.key if key is None else key
    return Layout(
        as_texts(partition_by or (), "a partition spec"),
        as_texts(sort_by or (), "a sort order"),
        as_paths(key or (), "a primary key"),
    )


def _checked(work: Work, table: str, new: NewEdition) -> NewEdition:
    """The edition, if its columns allow its properties; with the checks that lengths of columns make."""
    columns = new.columns
    if columns is None and new.properties is None:
        return new
    if columns is None:
        columns = table_state(work, editions.table_around(work, table)).schema
    own = {**checks.length_checks(columns), **(new.properties or {})}
    known.check_table_properties(own, with_ids(columns, 1, 1))
    return NewEdition(new.name, new.columns, new.layout, own, new.id)
