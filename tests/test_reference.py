"""The references of the guide say what the code says: every property with its default, every error with its kind."""

import re
from pathlib import Path

import pytest

import lakebed
from lakebed import Schema, errors
from lakebed.catalog.tables import known_properties
from tests.support import reference
from tests.support.reference import GUIDE, SECTIONS, current, errors_by_name, properties, rows_of_errors


@pytest.mark.parametrize("name", SECTIONS)
def test_the_page_is_as_the_code_has_it(name: str) -> None:
    page = (GUIDE / name).read_text(encoding="utf-8")
    assert page == current(page, SECTIONS[name]()), "run: python -m tests.support.reference"


def test_every_property_that_a_table_takes_is_on_the_page() -> None:
    page = (GUIDE / "configuration.md").read_text(encoding="utf-8")
    with pytest.raises(errors.Invalid) as refused:
        known_properties.check_table_properties({"write.no": ""}, Schema([]))
    names = str(refused.value).partition("one of ")[2].partition(")")[0].split(", ")
    assert len(names) > 20
    assert [name for name in names if f"| `{name}` |" not in page] == []


def test_a_property_without_a_meaning_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(known_properties._VALUES, "write.colour", lambda given, schema: None)
    with pytest.raises(KeyError, match=r"write\.colour"):
        properties()


def test_every_default_and_both_ends_of_every_range_are_accepted_as_they_are_written(tmp_path: Path) -> None:
    table = lakebed.connect(tmp_path / "lake").catalog().create_table("t", {"id": "long"})
    tried = 0
    for one in properties():
        words = re.split(r" or | to |, ", one.values) if one.name not in UNTRIED else []
        default = re.sub(r" (rows|commits)$", "", one.default)
        for value in {default, *words} - {"none", "the engine's"}:
            table.set_properties({one.name: value.replace(",", "").replace(" bytes", "").replace(" byte", "")})
            table.unset_properties([one.name])
            tried += 1
    assert tried > 40


UNTRIED = ("write.bloom.columns", "write.bloom.fpp", "check.<name>")
"""Their values are words about values."""


def test_what_is_beyond_a_range_is_refused(tmp_path: Path) -> None:
    table = lakebed.connect(tmp_path / "lake").catalog().create_table("t", {"id": "long"})
    for setting in known_properties._NUMBERS:
        for value in (setting.least - 1, setting.most + 1):
            with pytest.raises(errors.Invalid):
                table.set_properties({setting.name: str(value)})


def test_every_error_is_drawn_in_the_tree_and_exported() -> None:
    assert len(list(rows_of_errors())) == len(errors_by_name()) - 1 > 10
    assert {name for name in errors_by_name() if not hasattr(lakebed, name)} == set()


def test_an_error_that_the_tree_does_not_draw_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tired(errors.LakebedError):
        """It has worked enough."""

    monkeypatch.setattr(errors, "Tired", Tired, raising=False)
    with pytest.raises(KeyError, match="Tired"):
        list(rows_of_errors())


def test_a_page_that_is_behind_is_found() -> None:
    page = f"# Title\n{reference.BEGIN}\n| old |\n{reference.END}\nwords\n"
    assert current(page, "| new |") == f"# Title\n{reference.BEGIN}\n\n| new |\n\n{reference.END}\nwords\n"
