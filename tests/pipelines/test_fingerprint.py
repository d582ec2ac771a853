"""A step's fingerprint changes with what it does, and with nothing else."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lakebed import pipelines as lp
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
        values = {**shop.params, **params}
        return shop._parts(shop.graph(), values).codes()["orders"]

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
        return shop._parts(shop.graph(), {}).codes()["t"]

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

        return shop._parts(shop.graph(), {}).codes()["t"]

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

        return shop._parts(shop.graph(), {}).codes()["t"]

    before = made(library.helper)
    exec("def helper():\n    return 2\n", library.__dict__)
    assert made(library.helper) == before
