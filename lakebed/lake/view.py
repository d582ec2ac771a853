"""The handle of a view."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, cast
from uuid import UUID

from lakebed.catalog.objects.log import Asked, log, newest_commit, read_all
from lakebed.catalog.tables import views
from lakebed.catalog.tables.views import Sql, ViewState
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, shown_name
from lakebed.catalog.transaction.objects import name_of, rename
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import Invalid, NotFound
from lakebed.html import Text, pre_html
from lakebed.lake.arguments import SchemaLike, at_tag, schema_of, version_of
from lakebed.lake.settings.properties import Propertied
from lakebed.lake.shown import Listing, object_text, safely_html
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from lakebed.catalog.inspect import describe
    from lakebed.store import Version
else:
    describe = deferred("lakebed.catalog.inspect.describe")


@dataclass(frozen=True, slots=True, repr=False)
class View(Propertied[Answer]):
    """A view by its id: the handle stays good when it is renamed. Every call is one transaction."""

    id: str
    _scope: Scope = field(repr=False)

    @property
    def name(self) -> Name:
        """Its name now: dotted text, or a tuple if a part has a dot."""
        return shown_name(name_of(self._scope.read(), self.id))

    @property
    def sql(self) -> dict[str, str]:
        """Its texts by dialect."""
        return self._state.sql

    @property
    def schema(self) -> Schema | None:
        """The columns that it gives, if they were declared with its text."""
        return self._state.schema

    @property
    def version(self) -> "Version | None":
        """The last commit that changed it; None if it is new in a transaction."""
        return newest_commit(self._read_all(), self.id)

    def __repr__(self) -> str:
        """Its name, where it looks and its version: it asks the lake, and never fails."""
        return object_text("View", self._scope, self.id, lambda work: [f"version {newest_commit(work, self.id)}"])

    def _repr_html_(self) -> str:
        return safely_html(lambda: pre_html("\n".join([repr(self), *self._texts()])), lambda: repr(self))

    def _texts(self) -> list[str]:
        return [f"{dialect}: {text}" for dialect, text in self.sql.items()]

    @property
    def _owner(self) -> str:
        return self.id

    @property
    def _state(self) -> ViewState:
        return views.view_state(self._scope.read(), self.id)

    def sql_for(self, dialect: str = views.SPARK) -> str:
        """Its text in a dialect; `NotFound` names those that it has."""
        texts = self.sql
        if dialect not in texts:
            raise NotFound(
                "the view has no text in this dialect",
                subject=str(dialect),
                expected=f"one of {', '.join(texts)}",
                advice="set_sql gives it texts in several dialects.",
            )
        return texts[dialect]

    def set_sql(
        self,
        sql: Sql,
        *,
        schema: SchemaLike | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give the view another query. Texts and columns that are not given are gone: they were the old one's."""
        texts, columns = views.check_sql(sql), given_schema(schema)
        request = Request("set_sql", (self.id, texts, schema_text(columns)), message, author, event_id)
        return cast("Answer", self._scope.change(lambda work: views.set_sql(work, self.id, texts, columns), request))

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: "Version | int | str | None" = None,
        time: date | str | None = None,
        tag: str | None = None,
    ) -> "View[Answer]":
        """The view as it was at a version, a time or a tag; `NotFound` if it was not there then."""
        if sum(one is not None for one in (moment, version, time, tag)) != 1:
            raise Invalid("name one moment", expected="a version, a time or a tag")
        if tag is not None:
            past = at_tag(self._scope, tag)
        else:
            past = self._scope.at(version_of(self._scope, moment, version=version, time=time, table=self.id))
        name_of(past.read(), self.id)
        return View(self.id, past)

    def history(self) -> Listing[Commit]:
        """The commits that changed the view, newest first."""
        return Listing(log(self._read_all(), Asked(self.id)))

    def rename(
        self,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give the view another name, in another namespace too. Its id and history stay."""
        request = Request("rename_view", (self.id, parse_name(new_name)), message, author, event_id)
        return cast("Answer", self._scope.change(lambda work: rename(work, self.id, new_name), request))

    def describe(self) -> str:
        """What it is, for people to read."""
        return Text(describe.view_text(self._scope.read(), self.id))

    def _read_all(self) -> Work:
        work = self._scope.read()
        views.view_state(work, self.id)
        read_all(work, self.id)
        return work


def given_schema(schema: SchemaLike | None) -> Schema | None:
    """The declared columns of a view."""
    return None if schema is None else schema_of(schema)


def schema_text(schema: Schema | None) -> str | None:
    """The columns as a request has them."""
    return None if schema is None else schema_to_json(schema).decode()
