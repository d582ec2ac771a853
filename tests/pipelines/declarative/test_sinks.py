"""Sinks get what was published, from where they stopped, whatever becomes of runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import Invalid, StepFailed
from tests.pipelines.conftest import order

SINK = """
dp.create_streaming_table("copied")


@dp.append_flow(target="copied")
def copies():
    return spark.readStream.table("raw.orders").select("id", "item")


dp.create_sink("out", format="json", options={"path": "PATH"})


@dp.append_flow(target="out")
def of_copied():
    return spark.readStream.table("copied")
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def delivered(out: Path) -> Callable[[], list[int]]:
    """The ids that have arrived in the sink."""
    return lambda: sorted(
        json.loads(line)["id"] for file in out.glob("*.json") for line in file.read_text().splitlines()
    )


def test_a_sink_gets_what_was_published_and_goes_on_where_it_stopped(
    project: Any, run: Any, load: Any, lake: Any, spark: Any, main: Any, raw: Any, out: Path, delivered: Any
) -> None:
    folder = project(sink_py=SINK.replace("PATH", str(out)))
    failed = load(folder)
    failed.check(on="sales.copied")(lambda: False)
    failed.run(lake, spark)
    assert not out.exists()
    first = run(folder).raise_for_status()
    assert delivered() == [1, 2, 3]
    steps = main.inspect("__steps", where=f"run = {first.id} AND action = 'hook'").to_pylist()
    assert [(row["step"], row["status"]) for row in steps] == [("after_publish: out", "done")]
    raw.append([order(4), order(5, "jam")], cast=True)
    run(folder).raise_for_status()
    assert delivered() == [1, 2, 3, 4, 5]
    assert run(folder).status == "unchanged"
    assert delivered() == [1, 2, 3, 4, 5]
    assert lake.check() == []


def test_a_sink_that_fails_leaves_the_run_published_and_gets_its_rows_from_the_next(
    project: Any, run: Any, main: Any, raw: Any, out: Path, delivered: Any
) -> None:
    folder = project(sink_py=SINK.replace("PATH", str(out)))
    out.write_text("in the way")
    failed = run(folder)
    assert (failed.status, main.table("sales.copied").scan().count()) == ("published", 3)
    with pytest.raises(StepFailed, match="sink out, flow of_copied"):
        failed.raise_for_status()
    out.unlink()
    run(folder).raise_for_status()
    assert delivered() == [1, 2, 3]


def test_a_sink_alone_follows_tables_that_others_write(
    project: Any, run: Any, raw: Any, out: Path, delivered: Any
) -> None:
    """What it would do: a run without a step has nothing to publish, and would never call the sink."""
    text = SINK[SINK.index("dp.create_sink") :].replace('table("copied")', 'table("raw.orders").select("id", "item")')
    folder = project(sink_py=text.replace("PATH", str(out)))
    assert run(folder).raise_for_status().status == "unchanged"
    raw.append([order(7)], cast=True)
    run(folder).raise_for_status()
    assert delivered() == [1, 2, 3, 7]
    out.rename(out.with_name("elsewhere"))
    out.write_text("in the way")
    raw.append([order(8)], cast=True)
    with pytest.raises(StepFailed, match="sink out, flow of_copied"):
        run(folder).raise_for_status()


def test_the_position_of_a_sink_is_not_an_option(project: Any, run: Any, raw: Any, out: Path) -> None:
    text = SINK.replace('"path": "PATH"', f'"path": "{out}", "checkpointLocation": "{out}-own"')
    with pytest.raises(Invalid, match="the position of a sink is kept by its pipeline"):
        run(project(sink_py=text))


def test_two_flows_into_a_folder_are_refused(project: Any, load: Any, raw: Any, out: Path) -> None:
    """What it did: Spark left out the rows of the second, since the folder had a batch 0 already."""
    text = SINK.replace("PATH", str(out))
    again = text[text.index('@dp.append_flow(target="out")') :].replace("of_copied", "more")
    with pytest.raises(Invalid, match=r"a folder of files has one flow.*of_copied .*, more"):
        load(project(sink_py=text + again))
    console = load(project(sink_py=(text + again).replace('"json"', '"console"')))
    assert [hook.name for hook in console._hooks] == ["out"]
