"""Lakes that earlier Lakebeds made: they open, answer as they did at every version, and can be written."""

import json
import zipfile
from pathlib import Path

import pytest

import lakebed
from lakebed import Invalid
from lakebed.metastore.records import form
from lakebed.pipelines.records import journal
from tests.support.frozen_lake import GOLDEN, GROWN, answers, records

FROZEN = sorted(GOLDEN.glob("frozen_lake_*.zip"))
FIRST = GOLDEN / "lake_format_1.zip"
"""Of the first format, with its answers beside it: what it has is what that Lakebed could do."""


def thawed(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as found:
        found.extractall(folder)
    return folder


@pytest.fixture(params=FROZEN, ids=lambda path: path.stem)
def frozen(request, tmp_path: Path) -> Path:
    return thawed(request.param, tmp_path / "lake")


def known(frozen: Path, name: str = "answers") -> dict[str, object] | None:
    """What a frozen lake answered; None if that was not frozen with it."""
    path = frozen / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def test_the_format_of_today_is_frozen():
    assert GOLDEN / f"frozen_lake_{form.FORMAT_VERSION}.zip" in FROZEN
    assert {path.stem.removeprefix("frozen_lake_") for path in FROZEN} == set(GROWN)


@pytest.mark.parametrize("flags", [{}, {"read_only": True}], ids=["to write", "read only"])
def test_a_frozen_lake_answers_as_it_did_at_every_version(frozen, flags):
    expected = known(frozen)
    with lakebed.connect(frozen, create=False, **flags) as lake:
        assert answers(lake) == expected
        noted = known(frozen, "records")
        assert noted is None or records(lake) == noted
        assert list(lake.check(deep=True)) == []


@pytest.mark.parametrize("flags", [{}, {"read_only": True}], ids=["to write", "read only"])
def test_a_lake_of_the_first_format_answers_as_it_did_at_every_version(tmp_path, flags):
    expected = json.loads(FIRST.with_suffix(".json").read_text(encoding="utf-8"))
    with lakebed.connect(thawed(FIRST, tmp_path / "lake"), create=False, **flags) as lake:
        assert answers(lake) == expected
        assert list(lake.check(deep=True)) == []


def test_a_lake_of_the_first_format_can_be_written_and_its_past_stays(tmp_path):
    expected = json.loads(FIRST.with_suffix(".json").read_text(encoding="utf-8"))
    with lakebed.connect(thawed(FIRST, tmp_path / "lake"), create=False) as lake:
        main = lake.catalog()
        main.merge(main.branch("dev"))
        main.table("sales.orders").append([{"id": 10, "note": "tin"}])
        main.table("sales.orders").update({"note": "'pot'"}, "id = 1")
        rows = main.table("sales.orders").scan().to_arrow().to_pylist()
        assert {row["id"]: row["note"] for row in rows} == {1: "pot", 9: "ink", 10: "tin"}
        main.table("sales.orders").compact()
        found = answers(lake)
        assert {version: found["main"][version] for version in expected["main"]} == expected["main"]
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


def test_what_was_begun_in_a_frozen_lake_is_finished_by_later_lakebeds(tmp_path):
    """A merge whose conflicts were kept, a staged stream, a consumer's position, and the numbers of runs."""
    frozen = thawed(GOLDEN / "frozen_lake_2_pipelines.zip", tmp_path / "lake")
    with lakebed.connect(frozen, create=False) as lake:
        main = lake.catalog()
        merge = main.merge_in_progress()
        assert [conflict.key for conflict in merge.conflicts] == [{"id": 9}]
        merge.decide({"sales.prices": {9: "ours"}})
        merge.finish()
        prices = main.table("sales.prices")
        assert (prices.get(8)["price"], prices.get(9)["price"]) == (100.0, 200.0)
        missed = prices.consumer("billing").changes(net=True).to_arrow().to_pylist()
        assert {row["id"] for row in missed} == {8, 40}
        [waiting] = [stream for stream in main.table("sales.parts").streams() if stream.state == "staged"]
        main.table("sales.parts").stream(waiting.id).commit()
        assert [row["id"] for row in main.table("sales.parts").scan().to_arrow().to_pylist()] == [7]
        run = journal.begin(lake, main, {"pipeline": "shop", "params": "{}", "author": "ada"})
        assert run.number == 3
        assert list(lake.check(deep=True)) == []


@pytest.mark.parametrize("number", GROWN)
def test_a_lake_that_grows_today_answers_as_the_frozen_one(tmp_path, number):
    """What was frozen is what the same calls do now: a difference is a change of behaviour."""
    with zipfile.ZipFile(GOLDEN / f"frozen_lake_{number}.zip") as archive:
        expected = json.loads(archive.read("answers.json"))
    with lakebed.connect(tmp_path / "lake", author="ada") as lake:
        GROWN[number](lake)
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
