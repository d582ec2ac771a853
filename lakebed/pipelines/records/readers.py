"""Who reads the columns of a table: views, shares, and steps of other pipelines, as their last runs noted."""

from collections.abc import Iterator

from lakebed.lake.catalog import Catalog
from lakebed.pipelines.records.lineage import made_of


def readers(line: Catalog, table: str, columns: set[str], own: set[str]) -> Iterator[str]:
    """Who may fail if the columns of a table go. `own` are tables that the pipeline makes itself."""
    wanted = {name.casefold() for name in columns}
    for view in line.views(recursive=True):
        if any(_query_reads(text, dialect, table, wanted) for dialect, text in view.sql.items()):
            yield f"view {view.name}"
    for share in line.shares():
        if share.table_exists(table):
            yield f"share {share.ref}"
    yield from _steps(line, table, wanted, own)


def _steps(line: Catalog, table: str, columns: set[str], own: set[str]) -> Iterator[str]:
    """Tables of the line that other pipelines make from the columns."""
    rows, facts = made_of(line)
    found = {
        row["table"]
        for row in rows
        if row["input_table"] == table
        and row["table"] not in own
        and (not row["input_column"] or row["input_column"].casefold() in columns)
    }
    for made in sorted(found):
        yield f"{made} of pipeline {facts[made].pipeline}"


def _query_reads(text: str, dialect: str, table: str, columns: set[str]) -> bool:
    """Whether a query names one of the columns, or all with a star, and the table. One that can't be parsed may."""
    from sqlglot import expressions as nodes
    from sqlglot import parse
    from sqlglot.errors import SqlglotError

    folded = text.casefold()
    if table.rpartition(".")[2].casefold() not in folded:
        return False
    try:
        trees = [tree for tree in parse(text, dialect=dialect) if tree is not None]
    except (SqlglotError, ValueError, RecursionError):
        return any(column in folded for column in columns) or "*" in folded
    tables = {_name(node) for tree in trees for node in tree.find_all(nodes.Table)}
    if not any(table.casefold() in (name, name.partition(".")[2]) for name in tables):
        return False
    named = {node.name.casefold() for tree in trees for node in tree.find_all(nodes.Column)}
    stars = any(_is_all(node) for tree in trees for node in tree.find_all(nodes.Star))
    return bool(named & columns) or stars


def _name(node: object) -> str:
    from sqlglot import expressions as nodes

    assert isinstance(node, nodes.Table)
    return ".".join(part.name for part in node.parts).casefold()


def _is_all(star: object) -> bool:
    """Whether a star stands for columns: in `count(*)` it does not."""
    from sqlglot import expressions as nodes

    assert isinstance(star, nodes.Star)
    return not isinstance(star.parent, nodes.Count)
