"""What notebooks show: tables and texts as HTML, all of it escaped."""

from collections.abc import Iterable, Sequence
from html import escape

ROWS, CHARACTERS = 10, 200
"""How many rows a notebook shows, and how many characters of a value."""


class Text(str):
    """A text of several lines, which a notebook shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return pre_html(self)


def pre_html(text: str) -> str:
    """A text as it is, line by line."""
    return f"<pre>{escape(text)}</pre>"


def table_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], more: str = "") -> str:
    """A title, a table of values, and a line below it."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
    below = f"<div>{escape(more)}</div>" if more else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if columns else ""
    return f"<div><b>{escape(title)}</b>{table}{below}</div>"


def _cell(value: object) -> str:
    if value is None:
        return "<i>null</i>"
    text = str(value)
    return escape(text if len(text) <= CHARACTERS else text[: CHARACTERS - 1] + "…")
