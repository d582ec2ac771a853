"""Every call that the parser of SQL advises exists on the public handle that it is called on."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lakebed
import lakebed.spark.sql
from lakebed.errors import Invalid
from lakebed.spark.sql.parsing import PYTHON_ONLY, parse_statement

HANDLES = {"catalog": lakebed.Catalog, "table": lakebed.Table, "lake": lakebed.Lake}
CALL = re.compile(rf"\b({'|'.join(HANDLES)})\.(\w+)\(")
KINDS = ("VIEW", "NAMESPACE", "SCHEMA", "DATABASE", "BRANCH", "TAG", "SHARE", "CATALOG")

REFUSED = [
    *(f"{word} something" for word in PYTHON_ONLY),
    *(f"{verb} {kind} something" for verb in ("CREATE", "DROP") for kind in KINDS),
    "DROP TABLE sales.orders PURGE",
    "DESCRIBE EXTENDED sales.orders",
    "MERGE WITH SCHEMA EVOLUTION INTO sales.orders USING new ON true WHEN MATCHED THEN DELETE",
]


def missing_calls(advice: str) -> list[str]:
    """The calls in a text that don't exist."""
    return [f"{handle}.{name}" for handle, name in CALL.findall(advice) if not hasattr(HANDLES[handle], name)]


def texts() -> Iterator[str]:
    """All texts in the source of the parser; of one with values inside, its parts."""
    for path in Path(*lakebed.spark.sql.__path__).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize("statement", REFUSED)
def test_a_refused_statement_advises_calls_that_exist(statement: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_statement(statement)
    assert refused.value.advice
    assert missing_calls(refused.value.advice) == []


def test_every_call_that_the_parser_names_exists() -> None:
    advice = [text for text in texts() if CALL.search(text)]
    assert len(advice) > 5, "the parser names calls"
    assert {text: calls for text in advice if (calls := missing_calls(text))} == {}


def test_a_call_that_does_not_exist_is_found() -> None:
    assert missing_calls("Use catalog.restore(…) or table.compact() in Python.") == ["catalog.restore"]
