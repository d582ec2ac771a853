"""How a step's rows are written to its table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from lakebed.errors import Invalid
from lakebed.table.expression.merge_clauses import Clause

Mode = Literal["replace", "append", "upsert", "partitions", "merge", "scd2"]
MODES = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Write:
    """A way to write: `replace` all rows, `append`, `upsert` by key, replace `partitions`, `merge`, or keep `scd2`."""

    mode: Mode
    on: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    sequence: str | None = None

    @property
    def is_incremental(self) -> bool:
        """Whether rows of earlier runs stay."""
        return self.mode != "replace"

    def __str__(self) -> str:
        parts = [*self.on, *map(str, self.clauses), *([self.sequence] if self.sequence else [])]
        return f"{self.mode}({', '.join(parts)})" if parts else self.mode


def merge(on: str | Sequence[str], *clauses: Clause) -> Write:
    """Write by SQL's MERGE: `lp.merge("id", lakebed.when_matched_update(), lakebed.when_not_matched_insert())`."""
    if not clauses or not all(isinstance(clause, Clause) for clause in clauses):
        raise Invalid("a merge has clauses", expected="such as lakebed.when_matched_update()", found=f"{clauses!r:.80}")
    return Write("merge", _names(on), tuple(clauses))


def scd2(keys: str | Sequence[str], sequence: str) -> Write:
    """Keep every version of a row, with `valid_from`, `valid_to` and `is_current`; the column `sequence` says when.

    Rows with the `_change_type` `delete` end the last version. A row that equals the version before it is left out.
    Rows may come late, and in any order.
    """
    if not isinstance(sequence, str) or not sequence:
        raise Invalid("scd2 needs a column that says when", expected="a column's name", found=repr(sequence))
    return Write("scd2", _names(keys), sequence=sequence)


def parse_write(given: Any) -> Write:
    """A mode by its word, or what `merge` and `scd2` answer."""
    if isinstance(given, Write):
        return given
    if given in ("merge", "scd2"):
        raise Invalid(f"{given} needs to know by which columns", advice=f"Pass lp.{given}(…).")
    if given not in MODES:
        raise Invalid("rows can't be written like this", expected=", ".join(MODES), found=repr(given))
    return Write(cast("Mode", given))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise Invalid("rows are matched by columns", expected="a name, or several", found=repr(given))
    return names
