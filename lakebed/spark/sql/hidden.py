"""Metadata columns in queries: they are there for whoever names them, and no star shows them.

Spark has hidden columns of its own, but only for its own sources. So the lists of what stars leave out are written into
the text: `SELECT * FROM t WHERE _row_id = 5` becomes `SELECT * EXCEPT (`t`.`_row_id`) FROM …`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from lakebed.spark.sql.queries import Query, Replacement, Star
from lakebed.spark.sql.tokens import quoted

_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI")


def left_out(star: Star, added: Mapping[int, Sequence[str]]) -> Replacement | None:
    """What has to be written behind a star; `added` has the metadata columns by the places of tables' names."""
    known = star.left_out or frozenset()
    columns = [
        f"{quoted(alias)}.{quoted(column)}"
        for start, alias in star.tables
        for column in added.get(start, ())
        if column not in known
    ]
    if not columns:
        return None
    text = ", ".join(columns)
    if star.left_out is None:
        return Replacement(star.place, star.place, f" EXCEPT ({text})")
    return Replacement(star.place, star.place, f"{text}, ")


def check_joins(query: Query) -> None:
    """Refuse a NATURAL JOIN, which would compare the metadata columns too."""
    words = query.words.words
    for word, after in pairwise(words):
        if word.reads("NATURAL") and after.reads(*_JOINS):
            advice = "Name the columns: JOIN … USING (…)."
            raise query.words.refused("NATURAL JOIN would compare the metadata columns too", word, advice=advice)
