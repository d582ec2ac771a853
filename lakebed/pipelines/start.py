"""Starting a run, or going on with one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import Forbidden, Invalid, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.decisions import Asked
from lakebed.pipelines.dry import dried
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.plan import plan
from lakebed.pipelines.records import journal
from lakebed.pipelines.running.lock import held
from lakebed.pipelines.running.run import Run
from lakebed.pipelines.running.runner import Listener, Options, Runner


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller of `Pipeline.run` asked for."""

    chosen: Sequence[str]
    asked: Asked
    resume: int | bool | None
    publish: bool
    isolation: str
    no_checks: Any
    breaking: bool
    wait: bool
    author: str | None
    listener: Listener | None
    openlineage: str | bool | None


def start(parts: Parts, lake: Lake, spark: SparkSession, target: Catalog, request: Request) -> Run:
    """Run a pipeline, from its branch or from where an earlier run stopped."""
    if request.isolation not in ("snapshot", "serializable"):
        raise Invalid("there is no such isolation", expected="snapshot or serializable", found=repr(request.isolation))
    target._scope.context.check_writable("run")
    reports = _reports(request, parts, lake, target)
    with held(lake, parts.name, wait=request.wait):
        options = _options(request, reports)
        if request.resume is not None and request.resume is not False:
            return _resumed(parts, lake, spark, request, options)
        return _new(parts, lake, spark, target, request, options)


def _new(parts: Parts, lake: Lake, spark: SparkSession, target: Catalog, request: Request, options: Options) -> Run:
    codes = parts.codes()
    known = plan(parts.name, parts.graph, codes, target, request.chosen, request.asked, len(parts.checks))
    planned = dried(known, parts.graph, target, spark, parts.params)
    problem = next((step.problem for step in planned.steps if step.problem is not None), None)
    if problem is not None:
        raise problem
    breaking = [step for step in planned.steps if step.is_breaking]
    if breaking and not request.breaking:
        raise Forbidden(
            "columns that somebody reads would go or change",
            subject=f"step {breaking[0].name}",
            found="; ".join(line.strip() for step in breaking for line in step.lines(0)),
            advice="Change the readers first, or run it with breaking=True.",
        )
    author = request.author or lake._context.author
    code = ",".join(f"{name}:{codes[name]}" for name in request.chosen)
    own = journal.begin(lake, parts.name, target, parts.params, code, author)
    return Runner(parts, lake, spark, target, own, options).go()


def _resumed(parts: Parts, lake: Lake, spark: SparkSession, request: Request, options: Options) -> Run:
    number = journal.newest(lake, parts.name) if request.resume is True else int(request.resume or 0)
    if number is None:
        raise NotFound("the pipeline has no run yet", subject=parts.name, advice="Run it without resume.")
    own = journal.found(lake, number)
    row = own.row
    if row["pipeline"] != parts.name:
        raise Invalid("this run is another pipeline's", subject=f"run {number}", found=row["pipeline"])
    if row["status"] == "discarded":
        raise Invalid("the run was discarded", subject=f"run {number}", advice="Run the pipeline again.")
    target = lake.catalog(f"{row['catalog']}@{row['into']}")
    if row["status"] != "published":
        own.change(status="running", ended=None, error=None)
    return Runner(parts, lake, spark, target, own, options).go()


def _reports(request: Request, parts: Parts, lake: Lake, target: Catalog) -> list[Listener]:
    """Who is told what happens in the run."""
    listeners = [] if request.listener is None else [request.listener]
    if request.openlineage is not None and request.openlineage is not False:
        listeners.append(_openlineage(request.openlineage, lake, target, parts.graph))
    return listeners


def _openlineage(where: str | bool, lake: Lake, target: Catalog, graph: Graph) -> Listener:
    try:
        from lakebed.pipelines.running.openlineage import OpenLineage
    except ModuleNotFoundError as error:
        if error.name != "openlineage":
            raise
        raise Invalid(
            "OpenLineage's client is not installed", advice="Run `pip install 'lakebed[openlineage]'`."
        ) from error
    return OpenLineage(where, lake, target, graph)


def _options(request: Request, listeners: Sequence[Listener]) -> Options:
    skipped = request.no_checks if isinstance(request.no_checks, str | list | tuple) else ()
    names = frozenset([skipped] if isinstance(skipped, str) else skipped)
    return Options(
        request.chosen,
        request.asked,
        request.publish,
        "serializable" if request.isolation == "serializable" else "snapshot",
        names,
        request.no_checks is True,
        listeners,
    )
