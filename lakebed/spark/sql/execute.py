"""Runs a query's text with DataFrames in place of the lake's names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, PySparkException

from lakebed.spark.expressions import quietly
from lakebed.spark.sql.queries import Query, Use, name_at
from lakebed.spark.sql.tokens import place, quoted
from lakebed.spark.variables import verbatim, verbatim_template

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MISSING = "TABLE_OR_VIEW_NOT_FOUND"
"""Spark's error condition for a name that leads to nothing."""

_VIEW, _CONNECT_VIEW = 41, 59
"""The lengths of the names that PySpark gives to DataFrames in a text. A wrong figure costs a hint in an error."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement of the text from `start` to `end`; PySpark writes a name of its choice for `frame`."""

    start: int
    end: int
    before: str
    frame: str | None
    after: str

    def length(self, view: int) -> int:
        """Its length when Spark reads it, given the length of a view's name."""
        return len(self.before) + (0 if self.frame is None else view) + len(self.after)

    @property
    def text(self) -> str:
        name = "" if self.frame is None else f"{{{self.frame}}}"
        return f"{_escaped(self.before)}{name}{_escaped(self.after)}"


def run(spark: "SparkSession", query: Query, frames: Mapping[int, "DataFrame"]) -> "DataFrame":
    """The DataFrame of a query; `frames` has one for each use, by where its name begins.

    Spark's own errors go through, with a note on which place of the original text they mean.
    """
    edits = _edits(query)
    given: dict[str, Any] = {f"t{use.name.start}": frames[use.name.start] for use in query.uses}
    try:
        with quietly():
            return spark.sql(_written(spark, _edited(query.text, edits), edits), **given)
    except PySparkException as error:
        _point(error, query, edits, _view_length(spark))
        raise


def placeholder(use: Use) -> str:
    """A name for the rows of a use, as long as the names that PySpark gives."""
    return f"lakebed_{use.name.start:0{_VIEW - 8}d}"


def with_placeholders(query: Query) -> str:
    """The text of a query with a placeholder for each use."""
    pieces, position = [], 0
    names = {f"t{use.name.start}": placeholder(use) for use in query.uses}
    for edit in _edits(query):
        name = "" if edit.frame is None else names[edit.frame]
        pieces += [query.text[position : edit.start], edit.before, name, edit.after]
        position = edit.end
    return "".join([*pieces, query.text[position:]])


def index_behind_placeholders(query: Query, index: int) -> int:
    """The index in the original text for an index in the text with placeholders."""
    return _original_index(index, _edits(query), _VIEW)


def missing_use(spark: "SparkSession", error: Exception, query: Query) -> Use | None:
    """The name that Spark did not find, if that is the error and it may be one of the lake's."""
    if not isinstance(error, AnalysisException) or not (error.getCondition() or "").startswith(MISSING):
        return None
    index = _named_index(error)
    if index is None:
        return None
    start = _original_index(index, _edits(query), _view_length(spark))
    return None if any(use.name.start == start for use in query.uses) else name_at(query.words, start)


def _view_length(spark: "SparkSession") -> int:
    return _CONNECT_VIEW if "connect" in type(spark).__module__ else _VIEW


def _edits(query: Query) -> list[_Edit]:
    edits = [_Edit(each.start, each.end, quoted(each.alias), None, "") for each in query.qualifiers]
    edits += [_Edit(each.start, each.end, each.text, None, "") for each in query.replacements]
    for use in query.uses:
        before, after = ("", "") if use.alias is None else ("(", f" AS {quoted(use.alias)})")
        edits.append(_Edit(use.name.start, use.name.whole_end, before, f"t{use.name.start}", after))
    return sorted(edits, key=lambda edit: edit.start)


def _written(spark: "SparkSession", text: str, edits: list[_Edit]) -> str:
    """The edited text as Spark has to be given it."""
    return (verbatim_template if any(edit.frame for edit in edits) else verbatim)(spark, text)


def _edited(text: str, edits: list[_Edit]) -> str:
    """The text with its edits; other braces are doubled, as PySpark's formatter wants them."""
    if not any(edit.frame for edit in edits):
        return "".join(_plain_pieces(text, edits))
    pieces, position = [], 0
    for edit in edits:
        pieces += [_escaped(text[position : edit.start]), edit.text]
        position = edit.end
    return "".join([*pieces, _escaped(text[position:])])


def _plain_pieces(text: str, edits: list[_Edit]) -> list[str]:
    """The same without DataFrames, where PySpark formats nothing."""
    pieces, position = [], 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.before]
        position = edit.end
    return [*pieces, text[position:]]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _original_index(index: int, edits: list[_Edit], view: int) -> int:
    """The index in the original text for an index in the text that Spark reads."""
    moved = 0
    for edit in edits:
        if index < edit.start + moved:
            break
        if index < edit.start + moved + edit.length(view):
            return edit.start
        moved += edit.length(view) - (edit.end - edit.start)
    return index - moved


def _point(error: PySparkException, query: Query, edits: list[_Edit], view: int) -> None:
    """Add a note to the error on which place of the original text it means."""
    index = _named_index(error)
    if index is None or not edits:
        return
    original = _original_index(index, edits, view)
    word = next((word for word in query.words.words if word.start <= original < word.end), None)
    if word is not None:
        text = query.words.text
        error.add_note(f"In the original text: {place(text, word.start)}: {text[word.start : word.end]!r}")


def _named_index(error: PySparkException) -> int | None:
    """The index in the text that the error points at."""
    if isinstance(error, AnalysisException):
        for context in error.getQueryContext():
            if context.startIndex() >= 0:
                return int(context.startIndex())
    return None
