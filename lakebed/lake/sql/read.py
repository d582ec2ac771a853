"""The queries of statements as DataFrames: the lake's names become reads of its tables, and the texts of its views."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.tables.trust import A_VIEW, trusts_views
from lakebed.catalog.tables.trust import ADVICE as TRUST
from lakebed.errors import Forbidden, Invalid, LakebedError, NotFound
from lakebed.lake.sql.feeds import AskedBound, asked_changes, feed_between
from lakebed.lake.sql.names import Moment, Objects, Places, pointed, pointing
from lakebed.lake.sql.nearest import meant
from lakebed.lake.sql.system_tables import is_system_name, system_rows
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.spark.expressions import is_ansi, is_utc
from lakebed.spark.sql.conjuncts import prunable
from lakebed.spark.sql.execute import missing_use, run
from lakebed.spark.sql.hidden import check_joins, left_out
from lakebed.spark.sql.judged import judged
from lakebed.spark.sql.names import Bound, LakeName, Span, time_of
from lakebed.spark.sql.parsing import parse_query
from lakebed.spark.sql.queries import Query, Use
from lakebed.spark.sql.tokens import Words, quoted
from lakebed.spark.variables import verbatim
from lakebed.table.schema.metadata_columns import METADATA_COLUMNS
from lakebed.table.sql.kept import check_kept_condition, forbidden
from lakebed.table.types.names import folded_column

SESSION = ("global_temp", "spark_catalog")
"""First parts of names that are Spark's, unless the lake has them."""

FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "binaryfile", "delta", "iceberg")
"""Before a path in backticks they make a name of Spark's."""

DEEPEST = 128
"""How many views may stand on one another: each takes four frames of Python's stack, and 100 ms on a busy machine."""


_VIEW = "view "
_FIX_VIEW = "Create it, or give the view another query with set_sql(…)."
_USE_TEMPORARY = "A table of the session is read under one part: make a temporary view of it."


@dataclass(frozen=True, slots=True)
class Reader:
    """Runs queries on a session; each table is read once for all places that ask for the same of it."""

    spark: SparkSession
    places: Places
    within: tuple[View, ...] = ()
    """The views whose texts are being read, the outermost first."""
    is_restricted: bool = False
    """Whether it reads for a view that is not trusted: the lake's tables alone, and functions that compute."""
    _frames: dict[tuple[Table | View, str], DataFrame] = field(default_factory=dict)

    def frame(self, query: Query) -> DataFrame:
        """The DataFrame of a query. If sqlglot did not find all names, Spark reports the missing ones in turn."""
        if self.is_restricted:
            query = self._judged(query)
        else:
            self._check_unambiguous(query)
        while True:
            try:
                return self._run(query)
            except LakebedError:
                raise
            except Exception as error:
                use = missing_use(self.spark, error, query)
                if use is None:
                    raise
                query = replace(query, uses=(*query.uses, use))

    def _judged(self, query: Query) -> Query:
        try:
            return judged(self.spark, query)
        except Forbidden as error:
            error.advice = TRUST
            raise

    def _run(self, query: Query) -> DataFrame:
        found = {}
        for use in query.uses:  # not in a comprehension, whose frame would count for views on one another
            found[use] = self._read(use, query.words)
        frames = {use.name.start: one for use, one in found.items() if one is not None}
        own = replace(query, uses=tuple(use for use, one in found.items() if one is not None))
        return run(self.spark, self._with_hidden_columns(own), frames)

    def _with_hidden_columns(self, query: Query) -> Query:
        """The query, whose stars leave out the metadata columns that it names: the tables now have them."""
        asked = _metadata_columns(query.words)
        if not asked:
            return query
        check_joins(query)
        added = {use.name.start: self._added_columns(use.name, asked) for use in query.uses}
        hidden = [one for star in query.stars if (one := left_out(star, added)) is not None]
        return replace(query, replacements=(*query.replacements, *hidden))

    def _added_columns(self, name: LakeName, asked: Sequence[str]) -> list[str]:
        """Which of the metadata columns are added to what a name stands for: to tables alone, besides their own."""
        container = None if name.span is not None else self._container(name, self._moment(name))
        if container is None or not container.table_exists(name.parts):
            return []
        own = {folded_column(column) for column in container.table(name.parts).schema.names}
        return [column for column in asked if column not in own]

    def _check_unambiguous(self, query: Query) -> None:
        """Refuse a name that both have if it is not known to be a table's: Spark would take its own, and not ask."""
        for name in query.suspects:
            if self._container(name, None) is not None and self._is_in_session(name):
                raise query.words.refused(
                    "the session has a table of this name too, and it is not clear which one is meant",
                    name.word,
                    advice=f"Write it with its ref: {name.spelled}@main.",
                )

    def _is_in_session(self, name: LakeName) -> bool:
        return self.spark.catalog.tableExists(verbatim(self.spark, name.spelled))

    def source(self, use: Use, words: Words) -> DataFrame:
        """The rows of a table or view."""
        found = self._read(use, words)
        if found is None:
            found = self.spark.table(verbatim(self.spark, words.text[use.name.start : use.name.end]))
        return found

    def _read(self, use: Use, words: Words) -> DataFrame | None:
        """The rows of a table or view; None for a name of Spark's."""
        name, place = use.name, words.place_of(use.name.word)
        try:
            moment = self._moment(name)
            container = self._container(name, moment)
        except LakebedError as error:
            raise pointed(error, place) from error
        if container is None:
            system = system_rows(self.spark, self.places.read(name, moment), name.parts, use.conditions)
            if system is not None and not self._is_hidden(name):
                return system
            if moment is None and self._is_of_session(name):
                if self.is_restricted:
                    raise pointed(_outside(name), place)
                return None
            raise pointed(_missing(name, self.places.read(name, moment), bool(self.within)), place)
        if name.span is not None:
            with pointing(place):
                return self._changes(container, name, name.span)
        if container.table_exists(name.parts):
            return self._table(self.places.as_changed(container.table(name.parts)), use, words)
        return self._view(container.view(name.parts), self.places.inside(container, moment), place)

    def has(self, name: LakeName) -> bool:
        """Whether the lake has the table, view or system table of a name now."""
        if self._container(name, None) is not None:
            return True
        is_hidden = _is_path(name) or self._is_hidden(name)
        return not is_hidden and is_system_name(self.places.read(name, None), name.parts)

    def _is_hidden(self, name: LakeName) -> bool:
        """Whether a temporary view of the session is meant, which the names of a view never are."""
        return not self.is_restricted and name.is_relative and is_temporary(self.spark, name.parts[-1])

    def _is_of_session(self, name: LakeName) -> bool:
        if name.is_relative:
            return True
        return name.place is None and (self.places.is_attached or _is_path(name) or name.parts[0].lower() in SESSION)

    def _moment(self, name: LakeName) -> Moment | None:
        given = name.moment
        if given is None:
            return None
        if given.expression is not None:
            if self.is_restricted:
                check_kept_condition(given.expression, A_VIEW)
            return Moment(time=time_of(self.spark, given.expression))
        return Moment(given.version, given.time)

    def _container(self, name: LakeName, moment: Moment | None) -> Objects | None:
        """What holds the table or view of a name, None if there is none."""
        if _is_path(name) or self._is_hidden(name):
            return None
        container = self.places.read(name, moment)
        return container if container.table_exists(name.parts) or container.view_exists(name.parts) else None

    def _changes(self, container: Objects, name: LakeName, span: Span) -> DataFrame:
        """The rows that changed in a span; the statement's version ends it."""
        if not container.table_exists(name.parts):
            raise Invalid("only tables have changes", subject=name.spelled, found="a view")
        asked = asked_changes(dict(span.options))
        since, until = (self._bound(bound) for bound in (span.start, span.stop))
        return feed_between(container.table(name.parts), since, until, asked).read(self.spark)

    def _bound(self, bound: Bound | None) -> AskedBound | None:
        if bound is None:
            return None
        given = bound.moment
        if given.expression is not None and self.is_restricted:
            check_kept_condition(given.expression, A_VIEW)
        time = given.time if given.expression is None else time_of(self.spark, given.expression)
        return AskedBound(given.version, time, bound.is_inclusive)

    def _table(self, table: Table, use: Use, words: Words) -> DataFrame:
        is_plain = is_utc(self.spark), is_ansi(self.spark)
        where = prunable(use.conditions, table.schema, *is_plain) if use.conditions else None
        asked = _metadata_columns(words)
        key = (table, f"{where} {asked}")
        if key not in self._frames:
            columns = [*table.schema.names, *asked] if asked else None
            self._frames[key] = table.read(self.spark, where=where, columns=columns)
        return self._frames[key]

    def _view(self, view: View, places: Places, place: str) -> DataFrame:
        key = (view, str(places.version))
        if key not in self._frames:
            self._check_depth(view, place)
            is_restricted = not trusts_views(view._scope.context, view._scope.ref)
            inner = replace(self, places=places, within=(*self.within, view), is_restricted=is_restricted)
            try:
                self._frames[key] = inner.frame(parse_query(view.sql_for(), namespace=()))
            except LakebedError as error:
                raise _in_view(error, view) from error
        return self._frames[key]

    def _check_depth(self, view: View, place: str) -> None:
        ids = [one.id for one in self.within]
        if view.id in ids:
            circle = " → ".join(str(one.name) for one in (*self.within[ids.index(view.id) :], view))
            raise pointed(Invalid("a view is made of itself", subject=circle), place)
        if len(ids) >= DEEPEST:
            problem = f"more than {DEEPEST} views stand on one another"
            advice = "Write the rows of one of them into a table, and read that."
            raise pointed(Invalid(problem, subject=str(view.name), advice=advice), place)


def is_temporary(spark: SparkSession, name: str) -> bool:
    """Whether the session has a temporary view of this name."""
    try:
        return spark.catalog.getTable(verbatim(spark, quoted(name))).isTemporary
    except AnalysisException:
        return False


def _metadata_columns(words: Words) -> list[str]:
    """The metadata columns that a query names: only then its tables have them."""
    named = {word.text.casefold() for word in words.words if word.names}
    return [column.name for column in METADATA_COLUMNS if column.name in named]


def _is_path(name: LakeName) -> bool:
    """Whether it is the path of files, which no name of the lake could be."""
    return name.place is None and name.parts[0].lower() in FORMATS and "/" in name.parts[-1]


def _outside(name: LakeName) -> LakebedError:
    """The error for a name in a view that is not the lake's."""
    if name.is_relative:
        advice = "The lake's views can't read tables of the session."
        return NotFound("there is no such table or view in the lake", subject=name.spelled, advice=advice)
    error = forbidden(A_VIEW, "can only read the lake's tables and views", name.spelled)
    error.advice = TRUST
    return error


def _in_view(error: LakebedError, view: View) -> LakebedError:
    """The error with the view that it is about, the innermost: places are those in its text."""
    if not error.subject.startswith(_VIEW):
        error.subject = f"{_VIEW}{view.name}, {error.subject}" if error.subject else f"{_VIEW}{view.name}"
    return error


def _missing(name: LakeName, objects: Objects, is_in_view: bool) -> NotFound:
    if name.moment is not None:
        return NotFound(
            "the lake had no such table or view at that moment",
            subject=name.spelled,
            advice=meant(objects, name.parts) or "DESCRIBE HISTORY lists the versions of a table.",
        )
    return NotFound(
        "there is no such table or view in the lake",
        subject=name.spelled,
        advice=meant(objects, name.parts) or (_FIX_VIEW if is_in_view else _USE_TEMPORARY),
    )
