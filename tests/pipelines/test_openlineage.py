"""A run's events as OpenLineage's own client sends them, to a file and to a server."""

import json
import logging
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lakebed import pipelines as lp
from tests.pipelines.conftest import order


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that keeps what it gets, as Marquez does."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", received
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_run_sends_its_steps_tables_columns_and_checks(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, tmp_path: Path
) -> None:
    shop.check(lp.unique("sales.orders", "id"), lp.row_count("sales.sums", min=1))
    file = tmp_path / "events.jsonl"
    run = shop.run(lake, spark, openlineage=str(file)).raise_for_status()
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(event["eventType"], event["job"]["name"]) for event in events] == [
        ("START", "shop"),
        ("START", "shop.sales.orders"),
        ("COMPLETE", "shop.sales.orders"),
        ("START", "shop.sales.sums"),
        ("COMPLETE", "shop.sales.sums"),
        ("COMPLETE", "shop"),
    ]
    [row] = main.inspect("__runs").to_pylist()
    assert {event["run"]["runId"] for event in events if event["job"]["name"] == "shop"} == {row["uuid"]}
    made = events[2]
    assert made["run"]["facets"]["parent"]["run"]["runId"] == row["uuid"]
    assert made["job"]["facets"]["documentation"]["description"] == "Orders, cleaned."
    [source] = made["inputs"]
    assert (source["namespace"], source["name"]) == (lake.url, "default.raw.orders")
    assert source["facets"]["version"]["datasetVersion"] == run.base
    [output] = made["outputs"]
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["id", "item", "price"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    fields = events[4]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {name: [one["field"] for one in field["inputFields"]] for name, field in fields.items()} == {
        "item": ["item"],
        "total": ["price"],
    }
    checked = {one["name"]: one["inputFacets"]["dataQualityAssertions"]["assertions"] for one in events[-1]["inputs"]}
    assert [assertion["success"] for assertion in checked["default.sales.orders"]] == [True]
    assert set(checked) == {"default.sales.orders", "default.sales.sums"}


def test_a_failed_run_says_so_to_a_server(lake: Any, spark: Any, raw: Any, shop: Any, server: Any) -> None:
    url, received = server
    shop.check(lp.accepted("sales.orders", "item", ["tea"]))
    run = shop.run(lake, spark, openlineage=url)
    assert run.status == "check_failed"
    end = received[-1]
    assert (end["eventType"], end["job"]["name"]) == ("FAIL", "shop")
    assert end["run"]["facets"]["errorMessage"]["message"] == str(run.error)
    [table] = end["inputs"]
    [assertion] = table["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (assertion["success"], assertion["actual"]) == (False, "1 rows failed")
    assert [event["eventType"] for event in received].count("COMPLETE") == 2


def test_a_server_that_is_away_does_not_stop_a_run(
    lake: Any, spark: Any, raw: Any, shop: Any, tmp_path: Path, caplog: Any
) -> None:
    with caplog.at_level(logging.WARNING, logger="lakebed.pipelines"):
        run = shop.run(lake, spark, openlineage=str(tmp_path / "missing" / "events.jsonl"))
    assert run.raise_for_status().status == "published"
    assert "OpenLineage did not get an event of run 1" in caplog.text


def test_a_skipped_step_completes_without_tables(lake: Any, spark: Any, raw: Any, shop: Any, tmp_path: Path) -> None:
    shop.run(lake, spark).raise_for_status()
    file = tmp_path / "events.jsonl"
    shop.run(lake, spark, openlineage=str(file)).raise_for_status()
    ended = [json.loads(line) for line in file.read_text().splitlines()][2]
    assert (ended["eventType"], ended["inputs"], ended["outputs"]) == ("COMPLETE", [], [])
    raw.append([order(9)], cast=True)
