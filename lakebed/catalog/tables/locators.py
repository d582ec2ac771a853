"""Locators: where an object is among the six levels of source document 000, by the names of all that it is in.

    namespace | table | edition | stream | partition | delta

An edition's name is its version (`2`), a stream's and a partition's their ids, a delta's its position in the stream.
Names hold no `|`, and no two objects in one namespace have one name, so that no two objects have one canonical string.
"""

import re
from dataclasses import dataclass, replace

from lakebed.errors import Invalid

_POSITION = re.compile("[1-9][0-9]{0,18}")

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

    @classmethod
    def parse(cls, text: str, kind: str) -> "Locator":
        """The locator with a canonical string: `parse("sales|eu|orders|2", "edition")`.

        Names alone don't say how many of them are namespaces, so that the level has to be given. `Catalog.find` knows
        it from what is there.
        """
        if kind not in LEVELS:
            raise Invalid("this is not a level of a lake", subject=repr(kind), expected=", ".join(LEVELS))
        names = check_names(text)
        depth = LEVELS.index(kind)
        if len(names) < depth or (depth == 0 and not names):
            raise _not_canonical(text, f"at least {max(depth, 1)} names with bars between them, for the level {kind}")
        split = len(names) - depth
        own: dict[str, str | int] = dict(zip(LEVELS[1:], names[split:], strict=False))
        if kind == "delta":
            if not _POSITION.fullmatch(names[-1]):
                raise _not_canonical(text, "a position at its end: a whole number from 1")
            own["delta"] = int(names[-1])
        return cls(names[:split], **own)  # type: ignore[arg-type]  # names by their levels

    def __str__(self) -> str:
        return self.canonical


def check_names(text: str) -> tuple[str, ...]:
    """The names in a canonical string, or `Invalid`."""
    names = tuple(text.split("|")) if isinstance(text, str) else ()
    if not all(names) or not names:
        raise _not_canonical(text, "names with bars between them")
    return names


def _not_canonical(text: object, expected: str) -> Invalid:
    return Invalid(
        "this is not a canonical string",
        subject=repr(text),
        expected=expected,
        advice="Take it from a handle: str(table.locator).",
    )
