"""The catalog and the database that a definition stands in, and what its names mean there."""

from dataclasses import dataclass, replace

from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.errors import Invalid
from lakebed.pipelines.declarative.wanted import Parts

SPARKS_CATALOG = "spark_catalog"
TOP = "default"
"""Spark's database for names without one: in a lake these are at the top of the catalog."""


@dataclass(frozen=True, slots=True)
class Scope:
    """`catalogs` are the names of the one catalog that a run publishes, casefolded."""

    catalogs: frozenset[str]
    database: Parts = ()

    def full(self, parts: Parts) -> Parts:
        """The whole name of a table on the lake's line."""
        own = self._own(parts)
        return (*self.database, *own) if len(own) == 1 and len(parts) == 1 else own

    def defined(self, parts: Parts) -> Parts:
        """The whole name of a table that the project defines; `Invalid` in another catalog, and for names with dots."""
        full = self.full(parts)
        if len(parts) > 2 and len(full) == len(parts):
            raise Invalid(
                "a pipeline publishes one catalog",
                subject=".".join(parts),
                expected=" or ".join(sorted(self.catalogs)),
                found=parts[0],
            )
        if any("." in part for part in full):
            raise Invalid("a pipeline's tables have no dots in their names", subject=repr(full))
        return full

    def using(self, database: Parts) -> "Scope":
        """The scope behind a USE."""
        own = self._own((*database, ""))[:-1]
        return replace(self, database=own)

    def _own(self, parts: Parts) -> Parts:
        """A name without its catalog, and without Spark's database for names without one."""
        own = parts[1:] if len(parts) > 2 and parts[0].casefold() in self.catalogs else parts
        return own[1:] if len(own) == 2 and own[0].casefold() == TOP else own


def scope_of(catalog: str | None, opened: str, database: str | None) -> Scope:
    """The scope of a project whose spec names a catalog and a database; `opened` is the lake's catalog."""
    names = {opened, *((SPARKS_CATALOG,) if opened == DEFAULT else ()), *(() if catalog is None else (catalog,))}
    scope = Scope(frozenset(name.casefold() for name in names))
    return scope if database is None else scope.using(tuple(database.replace("`", "").split(".")))
