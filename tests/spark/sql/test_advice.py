"""Every call that the parser of SQL advises exists on the public handle that it is called on."""

import pytest

from lakebed.errors import Invalid
from lakebed.spark.sql.parsing import PYTHON_ONLY, parse_statement
from tests.support.advice import mistakes

KINDS = ("SHARE", "CATALOG")

REFUSED = [
    *(f"{word} something" for word in PYTHON_ONLY),
    *(f"{verb} {kind} something" for verb in ("CREATE", "DROP", "ALTER") for kind in KINDS),
    "DROP TABLE sales.orders PURGE",
    "OPTIMIZE sales.orders ZORDER BY (id)",
    "ALTER TABLE sales.orders RECOVER PARTITIONS",
    "ALTER TABLE sales.orders CREATE BRANCH dev",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_a_refused_statement_advises_calls_that_exist(statement: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_statement(statement)
    assert refused.value.advice
    assert mistakes(refused.value.advice) == []
