"""Running a query's text on DataFrames that stand in the places of the lake's names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, PySparkException

from lakebed.spark.sql.queries import Query, Use, name_at
from lakebed.spark.sql.tokens import place, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MISSING = "TABLE_OR_VIEW_NOT_FOUND"
"""What Spark calls it that a name leads to nothing."""

_VIEW, _CONNECT_VIEW = 41, 59
"""How long the names are that PySpark gives to DataFrames in a text. A wrong figure costs a hint in an error."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """Another text from `start` to `end`; of `frame` it is written as a name that PySpark chooses."""

    start: int
    end: int
    before: str
    frame: str | None
    after: str

    def written(self, view: int) -> int:
        """How long it is when Spark reads it."""
        return len(self.before) + (0 if self.frame is None else view) + len(self.after)

    @property
    def text(self) -> str:
        name = "" if self.frame is None else f"{{{self.frame}}}"
        return f"{_escaped(self.before)}{name}{_escaped(self.after)}"


def run(spark: "SparkSession", query: Query, frames: Mapping[int, "DataFrame"]) -> "DataFrame":
    """The DataFrame of a query; `frames` are those of its uses, by the places where their names begin.

    Spark's own errors go through, with a note where in the given text the place is that they name.
    """
    edits = _edits(query)
    given: dict[str, Any] = {f"t{use.name.start}": frames[use.name.start] for use in query.uses}
    try:
        return spark.sql(_edited(query.text, edits), **given)
    except PySparkException as error:
        _point(error, query, edits, _view_length(spark))
        raise


def missing_use(spark: "SparkSession", error: Exception, query: Query) -> Use | None:
    """The name under which Spark found nothing, if that is what the error says and it may be one of the lake's."""
    if not isinstance(error, AnalysisException) or not (error.getCondition() or "").startswith(MISSING):
        return None
    places = [one.startIndex() for one in error.getQueryContext() if one.startIndex() >= 0]
    if not places:
        return None
    start = _given_place(places[0], _edits(query), _view_length(spark))
    return None if any(one.name.start == start for one in query.uses) else name_at(query.words, start)


def _view_length(spark: "SparkSession") -> int:
    return _CONNECT_VIEW if "connect" in type(spark).__module__ else _VIEW


def _edits(query: Query) -> list[_Edit]:
    found = [_Edit(one.start, one.end, quoted(one.alias), None, "") for one in query.qualifiers]
    for use in query.uses:
        before, after = ("", "") if use.alias is None else ("(", f" AS {quoted(use.alias)})")
        found.append(_Edit(use.name.start, use.name.whole_end, before, f"t{use.name.start}", after))
    return sorted(found, key=lambda one: one.start)


def _edited(text: str, edits: list[_Edit]) -> str:
    """The text with its edits; other braces are doubled, as PySpark's formatter wants them."""
    if not any(one.frame for one in edits):
        return "".join(_plain_pieces(text, edits))
    pieces, position = [], 0
    for one in edits:
        pieces += [_escaped(text[position : one.start]), one.text]
        position = one.end
    return "".join([*pieces, _escaped(text[position:])])


def _plain_pieces(text: str, edits: list[_Edit]) -> list[str]:
    """Without DataFrames nothing is formatted."""
    pieces, position = [], 0
    for one in edits:
        pieces += [text[position : one.start], one.before]
        position = one.end
    return [*pieces, text[position:]]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _given_place(index: int, edits: list[_Edit], view: int) -> int:
    """The place in the given text of one in the text that Spark has read."""
    moved = 0
    for one in edits:
        if index < one.start + moved:
            break
        if index < one.start + moved + one.written(view):
            return one.start
        moved += one.written(view) - (one.end - one.start)
    return index - moved


def _point(error: PySparkException, query: Query, edits: list[_Edit], view: int) -> None:
    """Say where in the text that was given the place is that the error names."""
    index = _named_place(error)
    if index is None or not edits:
        return
    given = _given_place(index, edits, view)
    word = next((one for one in query.words.words if one.start <= given < one.end), None)
    if word is not None:
        text = query.words.text
        error.add_note(f"In the text that was given: {place(text, word.start)}: {text[word.start : word.end]!r}")


def _named_place(error: PySparkException) -> int | None:
    if isinstance(error, AnalysisException):
        for one in error.getQueryContext():
            if one.startIndex() >= 0:
                return int(one.startIndex())
    return None
