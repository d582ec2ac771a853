"""The queries of statements as DataFrames: the lake's names become reads of its tables, and the texts of its views."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.lake.engines import load_engine
from lakebed.lake.objects import Objects
from lakebed.lake.sql.names import Moment, Places, pointed
from lakebed.lake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.spark.sql.names import LakeName
    from lakebed.spark.sql.queries import Query, Use
    from lakebed.spark.sql.tokens import Words

ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")

SESSION = ("global_temp", "spark_catalog")
"""First parts of names that are Spark's, unless the lake has them."""

FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "binaryfile", "delta", "iceberg")
"""Before a path in backticks they make a name of Spark's."""

DEEPEST = 50
"""How many views may stand on each other."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Runs queries on a session; each table is read once for all places that ask for the same of it."""

    spark: "SparkSession"
    places: Places
    within: tuple[str, ...] = ()
    """The views whose texts are being read."""
    _frames: dict[Any, "DataFrame"] = field(default_factory=dict)

    def frame(self, query: "Query") -> "DataFrame":
        """The DataFrame of a query. Where sqlglot did not find all names, Spark tells which it misses, one by one."""
        self._check_unambiguous(query)
        while True:
            try:
                return self._run(query)
            except LakebedError:
                raise
            except Exception as error:
                use = _sql().missing_use(self.spark, error, query)
                if use is None:
                    raise
                query = replace(query, uses=(*query.uses, use))

    def _run(self, query: "Query") -> "DataFrame":
        found = {use: self._read(use, query.words) for use in query.uses}
        frames = {use.name.start: one for use, one in found.items() if one is not None}
        own = replace(query, uses=tuple(use for use, one in found.items() if one is not None))
        return cast("DataFrame", _sql().run(self.spark, own, frames))

    def _check_unambiguous(self, query: "Query") -> None:
        """Refuse a name that both have if it is not known to be a table's: Spark would take its own, and not ask."""
        for name in query.suspects:
            if self._held(name, None) is not None and self.spark.catalog.tableExists(name.spelled):
                raise query.words.refused(
                    "the session has a table of this name too, and it is not clear which one is meant",
                    name.word,
                    advice=f"Write it with its ref: {name.spelled}@main.",
                )

    def source(self, use: "Use", words: "Words") -> "DataFrame":
        """The rows of a table or view."""
        found = self._read(use, words)
        if found is None:
            found = self.spark.table(words.text[use.name.start : use.name.end])
        return found

    def _read(self, use: "Use", words: "Words") -> "DataFrame | None":
        """The rows of a table or view; None for a name of Spark's."""
        name, place = use.name, words.place_of(use.name.word)
        try:
            moment = self._moment(name)
            held = self._held(name, moment)
        except LakebedError as error:
            raise pointed(error, place) from error
        if held is None:
            if moment is None and _is_of_session(name):
                return None
            raise pointed(_missing(name), place)
        if held.table_exists(name.parts):
            return self._table(self.places.as_changed(held.table(name.parts)), use)
        return self._view(held.view(name.parts), self.places.inside(held, moment), place)

    def _moment(self, name: "LakeName") -> Moment | None:
        given = name.moment
        if given is None:
            return None
        if given.expression is not None:
            return Moment(time=_sql().time_of(self.spark, given.expression))
        return Moment(given.version, given.time)

    def _held(self, name: "LakeName", moment: Moment | None) -> Objects | None:
        """What holds the table or view of a name, None if there is none."""
        if _is_path(name):
            return None
        held = self.places.read(name, moment)
        return held if held.table_exists(name.parts) or held.view_exists(name.parts) else None

    def _table(self, table: Table, use: "Use") -> "DataFrame":
        utc = self.spark.conf.get(ZONE) in UTC
        ansi = self.spark.conf.get(ANSI) == "true"
        where = _sql().prunable(use.conditions, table.schema, utc, ansi) if use.conditions else None
        key = (table, str(where))
        if key not in self._frames:
            self._frames[key] = table.read(self.spark, where=where)
        return self._frames[key]

    def _view(self, view: Any, places: Places, place: str) -> "DataFrame":
        if view.id in self.within or len(self.within) >= DEEPEST:
            raise pointed(Invalid("a view is made of itself", subject=str(view.name)), place)
        inner = replace(self, places=places, within=(*self.within, view.id))
        return inner.frame(_sql().parse_query(view.sql_for()))


def _sql() -> Any:
    return load_engine("spark").sql


def _is_path(name: "LakeName") -> bool:
    """Whether it is the path of files, which no name of the lake could be."""
    return name.place is None and name.parts[0].lower() in FORMATS and "/" in name.parts[-1]


def _is_of_session(name: "LakeName") -> bool:
    return _is_path(name) or (name.place is None and name.parts[0].lower() in SESSION)


def _missing(name: "LakeName") -> NotFound:
    return NotFound(
        "there is no such table or view in the lake",
        subject=name.spelled,
        advice="A table of the session is read under one part: make a temporary view of it.",
    )
