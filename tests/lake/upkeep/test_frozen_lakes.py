"""Lakes that earlier Lakebeds made: they open, answer as they did at every version, and can be written."""

import json
import zipfile
from pathlib import Path

import pytest

import lakebed
from lakebed import Invalid
from lakebed.metastore.records import form
from tests.support.frozen_lake import GOLDEN, answers, grow

FROZEN = sorted(GOLDEN.glob("frozen_lake_*.zip"))


@pytest.fixture(params=FROZEN, ids=lambda path: path.stem)
def frozen(request, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path / "lake")
    return tmp_path / "lake"


def known(frozen: Path) -> dict[str, object]:
    path = frozen / "answers.json"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return json.loads(text)


def test_the_format_of_today_is_frozen():
    assert GOLDEN / f"frozen_lake_{form.FORMAT_VERSION}.zip" in FROZEN


@pytest.mark.parametrize("flags", [{}, {"read_only": True}], ids=["to write", "read only"])
def test_a_frozen_lake_answers_as_it_did_at_every_version(frozen, flags):
    expected = known(frozen)
    with lakebed.connect(frozen, create=False, **flags) as lake:
        assert answers(lake) == expected
        assert list(lake.check(deep=True)) == []


def test_a_frozen_lake_can_be_written_and_its_past_stays(frozen):
    expected = known(frozen)
    with lakebed.connect(frozen, create=False) as lake:
        main = lake.catalog()
        orders = main.table("sales.orders")
        main.undrop_table("sales.gone")
        dev = main.create_branch("new")
        dev.table("sales.orders").update({"price": "9"}, "id = 4")
        orders.update({"note": "'written'"}, "id = 4")
        main.merge(dev)
        orders.compact()
        assert (str(orders.get(4)["price"]), orders.get(4)["note"]) == ("9.00", "written")
        [monday] = main.table("sales.days").scan().to_arrow().to_pylist()
        assert monday == {"id": "a", "day": "mon"}
        main.table("sales.days").activate("1")
        assert main.table("sales.days").scan().count() == 2
        found = answers(lake)
        assert {version: found["main"][version] for version in expected["main"]} == expected["main"]
        assert list(lake.check()) == []


def test_a_lake_that_grows_today_answers_as_the_frozen_one(tmp_path):
    """What was frozen is what the same calls do now: a difference is a change of behaviour."""
    with zipfile.ZipFile(FROZEN[-1]) as archive:
        expected = json.loads(archive.read("answers.json"))
    with lakebed.connect(tmp_path / "lake", author="ada") as lake:
        grow(lake)
        found = answers(lake)
    for line in expected:
        assert in_order(found[line]) == in_order(expected[line])


def in_order(versions: dict[str, object]) -> list[object]:
    return [versions[version] for version in sorted(versions, key=int)]


def test_a_lake_of_a_later_format_is_refused_in_a_clear_sentence(frozen, monkeypatch):
    monkeypatch.setattr(form, "FORMAT_VERSION", 99)
    lakebed.connect(frozen, create=False).close()
    monkeypatch.undo()
    with pytest.raises(Invalid, match=r"newer format than this Lakebed knows.*found format 99.*Upgrade Lakebed"):
        lakebed.connect(frozen, create=False)
