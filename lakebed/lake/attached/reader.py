"""`spark.read`, which reads the lake's tables by their names."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, cast

from pyspark.sql import DataFrame, DataFrameReader

from lakebed.errors import Invalid
from lakebed.lake.attached.names import Found, Names
from lakebed.lake.catalog import Catalog
from lakebed.lake.sql.feeds import feed_between, options_of_reader
from lakebed.lake.sql.system_tables import system_rows
from lakebed.spark.attachment.extension import extended
from lakebed.spark.sql.tokens import quoted

OPTIONS = ("versionAsOf", "timestampAsOf", "branch", "tag")


class LakeReading:
    """What a reader of Spark's does more: it keeps its options, and asks the lake for a name first."""

    if TYPE_CHECKING:
        _lakebed: Callable[..., DataFrame]
        _lakebed_changes: Callable[..., DataFrame]
        _asked: dict[str, Any]

    def option(self, key: str, value: Any) -> Self:
        self._asked[key.lower()] = value
        return super().option(key, value)  # type: ignore[misc, no-any-return]

    def options(self, **options: Any) -> Self:
        self._asked.update({key.lower(): value for key, value in options.items()})
        return super().options(**options)  # type: ignore[misc, no-any-return]

    def table(self, tableName: str) -> DataFrame:
        return self._lakebed(super().table, tableName, self._asked)  # type: ignore[misc]

    def changes(self, tableName: str) -> DataFrame:
        def own(name: str) -> DataFrame:  # Spark has the method since 4.2
            return super(LakeReading, self).changes(name)  # type: ignore[misc, no-any-return]

        return self._lakebed_changes(own, tableName, self._asked)


def lake_reader(
    own: DataFrameReader, table: Callable[..., DataFrame], changes: Callable[..., DataFrame]
) -> DataFrameReader:
    """A reader of Spark's that asks `table` for names, and `changes` for the changes of a table."""
    reader: Any = own
    reader.__class__ = extended(LakeReading, own)
    reader._lakebed, reader._lakebed_changes, reader._asked = table, changes, {}
    return own


def changes_of(names: Names, found: Found, options: Mapping[str, Any]) -> DataFrame:
    """The rows of a table that changed between the bounds that the options name."""
    since, until, asked = options_of_reader(options)
    return feed_between(found.catalog.table(found.parts), since, until, asked).read(names.spark)


def read_found(names: Names, found: Found, options: Mapping[str, Any]) -> DataFrame:
    """The rows of a table or view now, or at the moment that the options name; later commits are not seen.

    As in Spark, the name of the table may stand before a column: `orders.id`.
    """
    return _rows(names, found, _at(found.catalog, options)).alias(found.parts[-1])


def _rows(names: Names, found: Found, catalog: Catalog) -> DataFrame:
    if catalog.table_exists(found.parts):
        return catalog.table(found.parts).read(names.spark)
    system = system_rows(names.spark, catalog, found.parts, ())
    if system is not None:
        return system
    catalog.view(found.parts)  # or `NotFound`
    *above, own = found.parts
    name = ".".join(map(quoted, (*above, f"{own}@{catalog.ref}")))
    return cast(DataFrame, catalog.sql(names.spark, f"SELECT * FROM {name}"))


def _at(catalog: Catalog, options: Mapping[str, Any]) -> Catalog:
    known = {name.lower() for name in OPTIONS}
    for name in options.keys() - known:
        raise Invalid("a table of the lake has no such option", subject=name, expected=", ".join(OPTIONS))
    if len(options) > 1:
        raise Invalid("name one moment or ref", expected=f"one of {', '.join(OPTIONS)}", found=", ".join(options))
    for name, value in options.items():
        match name:
            case "versionasof":
                return catalog._then(str(value), None)
            case "timestampasof":
                return catalog._then(None, value)
            case _:
                return catalog._beside(f"@{value}")
    return catalog
