"""A step's fingerprint changes with what it does, and with nothing else."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.pipelines.code.constants import constant_text
from lakebed.pipelines.files import load_pipeline

TEXT = '''
from lakebed import pipelines as lp
RATE = 0.2
def taxed(price):
    return price * (1 + RATE)
shop = lp.Pipeline("shop", params={"country": "IT", "other": 1})
@shop.view
def few(raw=lp.read("raw.orders")):
    return raw[:2]
@shop.table(primary_key=["id"])
def orders(few, country, raw=lp.read("raw.orders")):
    """Orders."""
    return [taxed(price) for price in raw if country]
'''


@pytest.fixture
def code(tmp_path: Path) -> Callable[..., str]:
    """The fingerprint of the step above, with a piece of the text replaced."""

    def fingerprint(old: str = "", new: str = "", **params: Any) -> str:
        assert not old or old in TEXT
        path = tmp_path / "fingerprinted_etl.py"
        path.write_text(TEXT.replace(old, new) if old else TEXT)
        sys.modules.pop("fingerprinted_etl", None)
        shop = load_pipeline(path)
        return shop._definition().parts(params).codes()["orders"]

    return fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Orders."""', '"""Other words."""'),
        ("    return [taxed", "    # a comment\n    return [taxed"),
        ("RATE = 0.2\n", "\n\nRATE = 0.2\n"),
        ("return [taxed(price) for", "return [\n        taxed(price)\n        for"),
        ("@shop.view\n", "@shop.view()\n"),
    ],
)
def test_comments_layout_and_docstrings_do_not_count(code: Callable[..., str], old: str, new: str) -> None:
    new = new if "[\n" not in new else "return [taxed(price) for"
    assert code(old, new) == code()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if country]", "if not country]"),
        ("(1 + RATE)", "(2 + RATE)"),  # a function that it calls
        ("RATE = 0.2", "RATE = 0.3"),  # a constant of that
        ("raw[:2]", "raw[:3]"),  # a view that it reads
        ('primary_key=["id"]', 'primary_key=["id", "item"]'),
        ('country, raw=lp.read("raw.orders")', 'country, raw=lp.changes("raw.orders")'),
    ],
)
def test_what_changes_the_rows_counts(code: Callable[..., str], old: str, new: str) -> None:
    assert code(old, new) != code()


def test_only_parameters_that_a_step_takes_count(code: Callable[..., str]) -> None:
    assert code(country="FR") != code()
    assert code(other=2) == code()


def test_a_version_replaces_the_code() -> None:
    def made(version: str | None, body: Callable[..., Any]) -> str:
        shop = lp.Pipeline("shop")
        shop.table("t", version=version)(body)
        return shop._definition().parts().codes()["t"]

    def one() -> int:
        return 1

    def other() -> int:
        return 2

    assert made("7", one) == made("7", other) != made("8", other)
    assert made(None, one) != made(None, other)


def test_values_that_a_function_was_made_with_count() -> None:
    """Steps that a loop makes differ only by them."""

    def made(factor: int) -> str:
        shop = lp.Pipeline("shop")

        @shop.table("t")
        def step(rows: Any = lp.read("raw.orders"), factor: int = factor) -> int:
            return rows * factor

        return shop._definition().parts().codes()["t"]

    assert made(2) == made(2) != made(3)


def test_code_of_installed_libraries_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a new patch release of any library would rebuild the lake."""
    library = ModuleType("some_library")
    library.__file__ = "/usr/lib/python3/site-packages/some_library.py"
    exec("def helper():\n    return 1\n", library.__dict__)
    monkeypatch.setitem(sys.modules, "some_library", library)

    def made(helper: Callable[[], int]) -> str:
        shop = lp.Pipeline("shop")

        @shop.table("t")
        def step() -> int:
            return helper()

        return shop._definition().parts().codes()["t"]

    before = made(library.helper)
    exec("def helper():\n    return 2\n", library.__dict__)
    assert made(library.helper) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("date(2026, 1, 1)", "date(2026, 1, 2)"),
        ("Decimal('1.20')", "Decimal('1.30')"),
        ("re.compile('a')", "re.compile('b')"),
        ("{'tea', 'jam'}", "{'tea', 'oil'}"),
        ("partial(max, key=len)", "partial(max, key=len, default=0)"),
        ("[timedelta(1), {'a': frozenset('bc')}]", "[timedelta(1), {'a': frozenset('bd')}]"),
    ],
)
def test_a_constant_of_any_plain_kind_counts(code: Callable[..., str], before: str, after: str) -> None:
    """What it did: a changed date, decimal or pattern was not seen, and the step was skipped with old rows."""
    head = (
        "import re\nfrom datetime import date, timedelta\nfrom decimal import Decimal\nfrom functools import partial\n"
    )
    assert code("RATE = 0.2", f"{head}RATE = {before}") == code("RATE = 0.2", f"{head}RATE = {before}")
    assert code("RATE = 0.2", f"{head}RATE = {before}") != code("RATE = 0.2", f"{head}RATE = {after}")


def test_a_set_has_the_same_text_whatever_the_order_of_its_members() -> None:
    """What it did: a step that names a set of texts was made again by every run, in each process by another order."""
    one, other = {0, 8}, {8, 0}
    assert repr(one) != repr(other)
    assert constant_text({"a": [one]}) == constant_text({"a": [other]})


def test_two_functions_that_another_one_makes_both_count() -> None:
    """What it did: of two closures with one name only the first was looked at."""

    def times(factor: int) -> Callable[[int], int]:
        def multiplied(value: int) -> int:
            return value * factor

        return multiplied

    def made(first: Callable[[int], int], second: Callable[[int], int]) -> str:
        shop = lp.Pipeline("shop")

        @shop.table("t")
        def step(rows: Any = lp.read("raw.orders")) -> int:
            return first(second(rows))

        return shop._definition().parts().codes()["t"]

    assert made(times(2), times(3)) == made(times(2), times(3))
    assert made(times(2), times(3)) != made(times(2), times(4)) != made(times(3), times(4))


def test_what_partials_and_objects_are_made_with_counts() -> None:
    class Scaled:
        def __init__(self, by: int) -> None:
            self.by = by

        def __call__(self, rows: Any = lp.read("raw.orders")) -> Any:
            return rows * self.by

    def scaled(rows: Any, by: int) -> Any:
        return rows * by

    def made(step: Any) -> str:
        shop = lp.Pipeline("shop")
        shop.table("t", inputs={"rows": "raw.orders"})(step)
        return shop._definition().parts().codes()["t"]

    assert made(partial(scaled, by=2)) == made(partial(scaled, by=2)) != made(partial(scaled, by=3))
    assert made(Scaled(2)) == made(Scaled(2)) != made(Scaled(3))


def test_constants_of_modules_inside_modules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, outer = ModuleType("rates"), ModuleType("config")
    inner.RATE, outer.rates = 1, inner  # type: ignore[attr-defined]

    def made() -> str:
        shop = lp.Pipeline("shop")

        @shop.table("t")
        def step(rows: Any = lp.read("raw.orders")) -> Any:
            return rows * outer.rates.RATE

        return shop._definition().parts().codes()["t"]

    before = made()
    monkeypatch.setattr(inner, "RATE", 2)
    assert made() != before
