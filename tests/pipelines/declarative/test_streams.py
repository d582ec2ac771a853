"""Streaming tables: every row of what they read is in them once, whatever happens to their runs."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp
from lakebed.errors import CheckFailed, StepFailed
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.pipelines.records import journal
from lakebed.pipelines.running.flows import FlowsOfStep
from tests.pipelines.conftest import order
from tests.pipelines.test_crashes import Died, dies

Rows = Callable[..., list[tuple[Any, ...]]]

ONE = """
@dp.table(comment="as they come")
def copied():
    return spark.readStream.table("raw.orders").select("id", "item")
"""
IDS = [(1,), (2,), (3,)]


def test_a_streaming_table_reads_each_row_once_and_is_skipped_if_none_came(
    project: Any, run: Any, main: Any, raw: Any, rows: Rows
) -> None:
    folder = project(one_py=ONE)
    first = run(folder).raise_for_status()
    assert [(step.name, step.action, step.rows) for step in first.steps] == [("sales.copied", "create", 3)]
    assert rows("sales.copied") == [(1, "tea"), (2, "jam"), (3, "tea")]
    assert main.table("sales.copied").comment == "as they come"
    assert run(folder).status == "unchanged"
    raw.append([order(4, "oil")], cast=True)
    again = run(folder).raise_for_status()
    assert [(step.action, step.rows) for step in again.steps] == [("update", 1)]
    assert rows("sales.copied", "id") == [*IDS, (4,)]
    lineage = main.inspect("__lineage", where="`table` = 'sales.copied' AND `column` = 'item'").to_pylist()
    assert {(row["input_table"], row["input_column"]) for row in lineage} == {("raw.orders", "item")}


SEVERAL = """
dp.create_streaming_table("words", table_properties={"a": "b"})


@dp.append_flow(target="words", name="of files")
def of_files():
    return spark.readStream.schema("word string, n int").json("FOLDER")


@dp.temporary_view
def named():
    return spark.readStream.option("maxFilesPerTrigger", 1).table("raw.orders").selectExpr("item AS word", "id")


@dp.append_flow(target="words")
def of_orders():
    return spark.readStream.table("named").select("word", F.col("id").alias("n"))
"""
CHAIN = """
CREATE STREAMING TABLE long PARTITIONED BY (word) AS SELECT word, n FROM STREAM(words) WHERE length(word) > 3;
CREATE STREAMING TABLE all_words;
CREATE FLOW one AS INSERT INTO all_words BY NAME SELECT word FROM STREAM words;
CREATE MATERIALIZED VIEW counts AS SELECT count(*) AS n FROM all_words
"""


def test_several_flows_write_to_one_table_and_other_streams_read_it_in_the_same_run(
    project: Any, run: Any, raw: Any, rows: Rows, tmp_path: Path
) -> None:
    """Flows of files and of tables, whose columns have other types, and streams of streams in SQL."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "1.json").write_text('{"word": "bread", "n": 7}\n')
    folder = project(several_py=SEVERAL.replace("FOLDER", str(source)), chain_sql=CHAIN)
    first = run(folder).raise_for_status()
    assert {step.name: step.rows for step in first.steps} == {
        "sales.words": 4,
        "sales.long": 1,
        "sales.all_words": 4,
        "sales.counts": 1,
    }
    assert rows("sales.words") == [("bread", 7), ("jam", 2), ("tea", 1), ("tea", 3)]
    assert (rows("sales.long"), rows("sales.counts")) == ([("bread", 7)], [(4,)])
    (source / "2.json").write_text('{"word": "butter", "n": 8}\n')
    raw.append([order(4, "oil")], cast=True)
    run(folder).raise_for_status()
    assert rows("sales.long") == [("bread", 7), ("butter", 8)]
    assert rows("sales.words", "n") == [(1,), (2,), (3,), (4,), (7,), (8,)]
    assert rows("sales.counts") == [(6,)]
    folders = set((tmp_path / "lake").rglob("checkpoints/*"))
    nothing = run(folder).raise_for_status()
    assert {step.name: step.rows for step in nothing.steps if step.status == "done"} == {"sales.words": 0}
    assert (nothing.status, set((tmp_path / "lake").rglob("checkpoints/*"))) == ("unchanged", folders)


def test_a_run_that_failed_after_its_streams_is_repaired_and_reads_the_same_rows_once(
    project: Any, load: Any, lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    folder = project(one_py=ONE)
    load(folder).run(lake, spark).raise_for_status()
    raw.append([order(4, "oil")], cast=True)
    shop = load(folder)
    shop.check(lp.accepted("sales.copied", "item", ["tea", "jam"]))
    failed = shop.run(lake, spark)
    assert (failed.status, rows("sales.copied", "id")) == ("check_failed", IDS)

    other = load(folder).run(lake, spark).raise_for_status()
    assert [(step.action, step.rows) for step in other.steps] == [("update", 1)]
    assert rows("sales.copied", "id") == [*IDS, (4,)]
    assert load(folder).run(lake, spark, resume=failed.id).status == "conflict"

    main.revert(other.published)
    assert rows("sales.copied", "id") == IDS
    assert load(folder).run(lake, spark).raise_for_status().steps[0].rows == 1
    assert rows("sales.copied", "id") == [*IDS, (4,)]


STATEFUL = """
@dp.table
def items():
    return spark.readStream.table("raw.orders").select("item").dropDuplicates()
"""


def test_what_a_stream_remembers_is_copied_with_its_position(
    project: Any, load: Any, lake: Any, spark: Any, raw: Any, rows: Rows
) -> None:
    """The state of a query is in its checkpoint: that of a run that fails is not what the next one goes on with."""
    shop = load(project(items_py=STATEFUL))
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.items") == [("jam",), ("tea",)]
    raw.append([order(4, "oil"), order(5, "tea")], cast=True)
    failing = load(project())
    failing.check(lp.accepted("sales.items", "item", ["tea", "jam"]))
    assert failing.run(lake, spark).status == "check_failed"
    assert shop.run(lake, spark).raise_for_status().steps[0].rows == 1
    assert rows("sales.items") == [("jam",), ("oil",), ("tea",)]


def test_a_resumed_run_with_other_code_takes_back_what_its_streams_wrote(
    project: Any, load: Any, lake: Any, spark: Any, raw: Any, rows: Rows
) -> None:
    """What it would do: rows of the old code would stay, beside those of the new one that the checkpoint leaves."""
    project(one_py=ONE)
    shop = load(project())
    shop.check(lp.accepted("sales.copied", "item", ["TEA", "JAM"]))
    assert shop.run(lake, spark).status == "check_failed"
    shop = load(project(one_py=ONE.replace('"item")', 'F.upper("item").alias("item"))')))
    shop.check(lp.accepted("sales.copied", "item", ["TEA", "JAM"]))
    shop.run(lake, spark, resume=True).raise_for_status()
    assert rows("sales.copied") == [(1, "TEA"), (2, "JAM"), (3, "TEA")]


def test_two_runs_at_once_never_append_the_rows_of_a_stream_twice(
    project: Any, load: Any, lake: Any, spark: Any, raw: Any, rows: Rows
) -> None:
    shop = load(project(one_py=ONE))
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4)], cast=True)
    first, second = (shop.run(lake, spark, publish=False) for _ in range(2))
    assert shop.run(lake, spark, resume=first.id).status == "published"
    assert shop.run(lake, spark, resume=second.id).status == "conflict"
    assert rows("sales.copied", "id") == [*IDS, (4,)]


def test_a_full_refresh_reads_everything_again(
    project: Any, load: Any, lake: Any, spark: Any, raw: Any, rows: Rows
) -> None:
    text = SEVERAL.replace(
        'spark.readStream.schema("word string, n int").json("FOLDER")', "spark.readStream.table('named')"
    )
    text = text.replace(
        "spark.readStream.table('named')", 'spark.readStream.table("named").selectExpr("word", "id AS n")'
    )
    load(project(several_py=text)).run(lake, spark).raise_for_status()
    assert len(rows("sales.words")) == 6
    again = load(project()).run(lake, spark, full_refresh="sales.words").raise_for_status()
    assert [(step.action, step.rows) for step in again.steps] == [("rebuild", 6)]
    assert len(rows("sales.words")) == 6


EXPECTING = """
@dp.table
@lp.expect("price < 100", or_="quarantine")
@lp.expect("item <> 'mud'", or_="drop")
@lp.expect("id < 50")
@lp.expect("id < 9", up_to=1, name="few")
def copied():
    return spark.readStream.option("maxFilesPerTrigger", 1).table("raw.orders").select("id", "item", "price")
"""


def test_expectations_of_a_stream_are_counted_over_all_its_batches(
    project: Any, load: Any, lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    folder = project(one_py=EXPECTING)
    for number, item, price in ((4, "mud", 1.0), (5, "oil", 200.0), (10, "tea", 1.0)):
        raw.append([order(number, item, price)], cast=True)
    done = load(folder).run(lake, spark).raise_for_status()
    assert [(step.rows, step.dropped, step.quarantined) for step in done.steps] == [(4, 1, 1)]
    assert {check.name: (check.failed, check.value) for check in done.checks} == {
        "price < 100": (1, "6"),
        "item <> 'mud'": (1, "6"),
        "id < 50": (0, "6"),
        "few": (1, "6"),
    }
    assert rows("sales.copied__quarantine", "id", "_errors") == [(5, ["price < 100"])]

    main.table("sales.copied__quarantine").update({"price": "2.0"}, where="id = 5")
    raw.append([order(6, "rye", 300.0)], cast=True)
    again = load(folder).run(lake, spark, retry="copied").raise_for_status()
    assert [(step.rows, step.quarantined) for step in again.steps] == [(1, 1)]
    assert (rows("sales.copied__quarantine", "id"), len(rows("sales.copied"))) == ([(6,)], 5)

    for number in (11, 12):  # each is allowed by itself
        raw.append([order(number)], cast=True)
    many = load(folder).run(lake, spark)
    with pytest.raises(CheckFailed, match="few: 2 of 2 rows failed"):
        many.raise_for_status()
    raw.append([order(60)], cast=True)
    bad = load(folder).run(lake, spark)
    with pytest.raises(CheckFailed, match="id < 50: 1 of 1 rows failed") as caught:
        bad.raise_for_status()
    assert caught.value.failures[0].examples[0]["id"] == 60
    assert len(rows("sales.copied")) == 5


def test_rows_that_changed_fail_a_stream_by_name_or_are_left_out(project: Any, run: Any, raw: Any, rows: Rows) -> None:
    run(project(one_py=ONE)).raise_for_status()
    raw.update({"item": "'rye'"}, where="id = 1")
    raw.append([order(4)], cast=True)
    with pytest.raises(StepFailed, match=r"raw.orders: commit .* deleted 0 and updated 1 rows"):
        run(project()).raise_for_status()
    ignoring = ONE.replace(".readStream.", '.readStream.option("skipChangeCommits", "true").')
    run(project(one_py=ignoring)).raise_for_status()
    assert rows("sales.copied", "id") == [*IDS, (4,)]


def test_a_checkpoint_that_is_gone_fails_instead_of_reading_everything_again(
    project: Any, run: Any, raw: Any, rows: Rows, tmp_path: Path, load: Any, lake: Any, spark: Any
) -> None:
    run(project(one_py=ONE)).raise_for_status()
    raw.append([order(4)], cast=True)
    [checkpoints] = (tmp_path / "lake").rglob("streaming/checkpoints")
    shutil.rmtree(checkpoints)
    with pytest.raises(StepFailed, match=r"the checkpoint of a flow is missing.*full_refresh='sales.copied'"):
        run(project()).raise_for_status()
    load(project()).run(lake, spark, full_refresh="copied").raise_for_status()
    assert rows("sales.copied", "id") == [*IDS, (4,)]


def test_a_run_is_not_resumed_with_a_checkpoint_that_is_gone(
    project: Any, load: Any, lake: Any, spark: Any, raw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it would do: the batches that are on the branch would be read again, and appended once more."""

    def dies(*_: Any) -> None:
        raise Died

    shop = load(project(one_py=ONE))
    with monkeypatch.context() as patch:
        patch.setattr(FlowsOfStep, "_closed", dies)
        with pytest.raises(Died):
            shop.run(lake, spark)
    [checkpoint] = (tmp_path / "lake").rglob("streaming/checkpoints/*")
    shutil.rmtree(checkpoint)
    with pytest.raises(StepFailed, match="the checkpoint of a flow is missing"):
        shop.run(lake, spark, resume=True).raise_for_status()


def test_a_lake_that_was_moved_says_that_its_streams_have_to_begin_again(
    project: Any, run: Any, raw: Any, tmp_path: Path, lake: Any, spark: Any
) -> None:
    """What it would do: no path is known there, so all rows would be appended once more."""
    folder = project(one_py=ONE)
    run(folder).raise_for_status()
    raw.append([order(4)], cast=True)
    lake.close()
    (tmp_path / "lake").rename(tmp_path / "moved")
    with lakebed.connect(tmp_path / "moved") as moved:
        shop = lp.spark_pipeline(folder, moved, spark)
        with pytest.raises(StepFailed, match=r"the lake was moved.*full_refresh='sales.copied'"):
            shop.run(moved, spark).raise_for_status()
        shop.run(moved, spark, full_refresh="copied").raise_for_status()
        assert moved.catalog().table("sales.copied").scan().count() == 4


def test_checkpoints_that_no_branch_goes_on_with_are_deleted_after_a_while(
    project: Any, load: Any, lake: Any, spark: Any, main: Any, raw: Any, rows: Rows, tmp_path: Path
) -> None:
    shop = load(project(one_py=ONE))
    shop.run(lake, spark).raise_for_status()
    main.create_branch("dev")
    [checkpoints] = (tmp_path / "lake").rglob("streaming/checkpoints")
    for number in (4, 5):
        raw.append([order(number)], cast=True)
        shop.run(lake, spark).raise_for_status()
    assert len(list(checkpoints.iterdir())) == 3
    shop.keep = timedelta(days=-1)
    shop.run(lake, spark)
    assert {place.name.partition("-copied")[0] for place in checkpoints.iterdir()} == {"run-1", "run-3"}
    shop.run(lake, spark, into="dev").raise_for_status()
    assert rows("sales.copied", "id", ref="dev") == IDS
    raw.append([order(6)], cast=True)
    assert shop.run(lake, spark).raise_for_status().steps[0].rows == 1


def test_what_a_batch_has_read_is_durable_before_its_commit(
    project: Any, run: Any, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark syncs nothing: after a power failure the rows would be there, and be read again."""
    done: list[str] = []
    sync, commit = LocalFiles.sync, RecordsMetastore.commit

    def noting(self: Any, paths: Any) -> None:
        listed = list(paths)
        done.extend("/".join(path.split("/")[-2:]) for path in listed if "/checkpoints/" in path)
        sync(self, listed)

    def committing(self: Any, *arguments: Any, **named: Any) -> Any:
        done.append("commit")
        return commit(self, *arguments, **named)

    monkeypatch.setattr(LocalFiles, "sync", noting)
    monkeypatch.setattr(RecordsMetastore, "commit", committing)
    run(project(one_py=ONE)).raise_for_status()
    begun = done.index("offsets/0")
    assert set(done[begun:]) >= {"0/0", "commit", "commits/0"}
    assert done.index("commit", begun) < done.index("commits/0") < len(done) - 1 - done[::-1].index("commit")


BOUNDARIES = 22


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, BOUNDARIES + 1))
@pytest.mark.sampled(11)
def test_a_run_whose_driver_dies_at_a_commit_of_a_stream_goes_on_with_its_batches(
    number: int,
    after: bool,
    project: Any,
    load: Any,
    lake: Any,
    spark: Any,
    main: Any,
    raw: Any,
    rows: Rows,
    monkeypatch: Any,
) -> None:
    text = SEVERAL.replace('.schema("word string, n int").json("FOLDER")', '.table("raw.words")')
    words = main.create_table("raw.words", {"word": "string", "n": "int"})
    words.append([{"word": "bread", "n": 7}])
    shop = load(project(several_py=text, next_sql="CREATE STREAMING TABLE long AS SELECT n FROM STREAM words"))
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4)], cast=True)
    raw.append([order(5)], cast=True)
    words.append([{"word": "rye", "n": 8}])
    with dies(monkeypatch, number, after=after) as count:
        try:
            shop.run(lake, spark)
        except Died:
            pass
        else:
            assert count[0] < number
    begun = journal.newest(lake, "shop")
    shop.run(lake, spark, resume=begun if begun == 2 else None).raise_for_status()
    assert rows("sales.words", "n") == rows("sales.long", "n") == [(n,) for n in (1, 2, 3, 4, 5, 7, 8)]
    assert shop.run(lake, spark).status == "unchanged"
    steps = main.inspect("__steps", where="run = 2").to_pylist()
    assert {step["rows"] for step in steps} <= {3, None}  # None where the driver died before it was noted
    assert lake.check() == []


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_driver_that_is_killed_between_batches_of_a_stream_loses_and_doubles_nothing(
    moment: str, project: Any, load: Any, lake: Any, spark: Any, raw: Any, rows: Rows, tmp_path: Path
) -> None:
    for number in (4, 5, 6):
        raw.append([order(number)], cast=True)
    folder = project(one_py=ONE.replace(".readStream.", '.readStream.option("maxFilesPerTrigger", 1).'))
    load(folder)
    driver = Path(__file__).with_name("stream_driver.py")
    own = os.environ | {"PYTHONPATH": str(Path(lp.__file__).parents[2])}
    arguments = [str(folder), str(tmp_path / "lake"), "2", moment]
    ended = subprocess.run([sys.executable, str(driver), *arguments], env=own, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    done = load(folder).run(lake, spark, resume=True).raise_for_status()
    assert rows("sales.copied", "id") == [*IDS, (4,), (5,), (6,)]
    assert [(step.rows, step.reason) for step in done.steps] == [(6, "goes on with its streams")]
