"""The facts of a run as its commit has them: they travel with the log, and can't be lost with the catalog of runs."""

import json
from typing import Any

from lakebed.catalog.inspect.runs import CHECKS, LINEAGE, STEPS
from lakebed.pipelines.records.journal import Journal

LONGEST = 32_000
"""How long the column lineage of a run may be on its commit, in characters; what is longer is in `__lineage` alone."""


def summary(journal: Journal) -> dict[str, str]:
    """What a run read, ran and found, as properties of the commit that publishes it."""
    row = journal.row
    done = [step for step in journal.noted(STEPS) if step["status"] == "done"]
    facts: dict[str, Any] = {
        "name": row["pipeline"],
        "run": str(journal.number),
        "uuid": journal.uuid,
        "base": row["base"],
        "params": {name: str(value) for name, value in json.loads(row["params"] or "{}").items()},
        "steps": {step["step"]: {"code": step["code"], "rows": step["rows"]} for step in done},
        "inputs": _inputs(done),
        "checks": {check["check"]: check["passed"] for check in journal.noted(CHECKS)},
        "lineage": _lineage(journal),
    }
    if row.get("revision"):
        facts["revision"] = row["revision"]
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
    return {f"pipeline.{name}": text for name, text in texts.items()}


def _inputs(done: list[dict[str, Any]]) -> dict[str, str]:
    """The versions of the tables that the run read."""
    states = [json.loads(step["inputs"] or "{}") for step in done]
    return {name: str(state["version"]) for listed in states for name, state in sorted(listed.items())}


def _lineage(journal: Journal) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for row in journal.noted(LINEAGE):
        source = ".".join(name for name in (row["input_table"], row["input_column"]) if name)
        found.setdefault(row["table"], {}).setdefault(row["column"] or "", []).append(source)
    return found if len(json.dumps(found)) <= LONGEST else {}
