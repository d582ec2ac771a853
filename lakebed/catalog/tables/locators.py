"""Locators: where an object is among the six levels of source document 000, by the names of all that it is in.

    namespace | table | edition | stream | partition | delta

An edition's name is its version (`2`), a stream's and a partition's their ids, a delta's its position in the stream.
Names hold no `|`, so that no two locators have one canonical string.
"""

from dataclasses import dataclass, replace

LEVELS = ("namespace", "table", "edition", "stream", "partition", "delta")


@dataclass(frozen=True, slots=True)
class Locator:
    """The names of an object and of all that it is in, outermost first; what is deeper than the object is None."""

    namespace: tuple[str, ...] = ()
    table: str | None = None
    edition: str | None = None
    stream: str | None = None
    partition: str | None = None
    delta: int | None = None

    @property
    def kind(self) -> str:
        """The level of the object: namespace, table, edition, stream, partition or delta."""
        return next((level for level in LEVELS[:0:-1] if getattr(self, level) is not None), "namespace")

    @property
    def canonical(self) -> str:
        """The object's own name after its parent's canonical string: `sales|orders|2`."""
        return "|".join((*self.namespace, *(str(name) for name in self._names if name is not None)))

    @property
    def parent(self) -> "Locator":
        """Where what it is in is; a namespace at the top is in the catalog, whose locator is empty."""
        kind = self.kind
        if kind == "namespace":
            return replace(self, namespace=self.namespace[:-1])
        return replace(self, **{kind: None})  # type: ignore[arg-type]  # the kind is not "namespace"

    @property
    def _names(self) -> tuple[str | int | None, ...]:
        return self.table, self.edition, self.stream, self.partition, self.delta

    def __str__(self) -> str:
        return self.canonical
