"""Starting a run, or going on with one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from time import time

from pyspark.sql import SparkSession

from lakebed.errors import Forbidden, Invalid, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.decisions import Asked
from lakebed.pipelines.definition import Definition
from lakebed.pipelines.dry import dried
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.plan import plan
from lakebed.pipelines.records import journal
from lakebed.pipelines.records.process import here, revision
from lakebed.pipelines.records.request import How, Request
from lakebed.pipelines.records.tables import opened_or_made
from lakebed.pipelines.running.checkpoints import prune
from lakebed.pipelines.running.ended import tidy
from lakebed.pipelines.running.lock import held
from lakebed.pipelines.running.run import Run
from lakebed.pipelines.running.runner import Listener, Options, Runner


def start(definition: Definition, lake: Lake, spark: SparkSession, request: Request, how: How) -> Run:
    """Run a pipeline, from its branch or from where an earlier run stopped."""
    target = request.target(lake)
    target._scope.context.check_writable("run")
    with held(lake, definition.name, wait=how.wait):
        if how.is_resumed:
            return _resumed(definition, lake, spark, request, how)
        return _new(definition, lake, spark, target, request, how)


def _new(definition: Definition, lake: Lake, spark: SparkSession, target: Catalog, request: Request, how: How) -> Run:
    parts = definition.parts(request.params)
    reports = _reports(how, lake, target, parts.graph)
    tidy(lake, spark, parts, definition.keep)
    prune(target, parts.graph.steps.values(), time() - definition.keep.total_seconds())
    chosen, asked, codes = request.chosen(parts, target), request.asked(parts.graph), parts.codes()
    planned = dried(plan(parts, target, chosen, asked), parts, target, spark, skipped=False)
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
    row = {
        "pipeline": parts.name,
        "author": how.author or lake._context.author,
        "code": ",".join(f"{name}:{codes[name]}" for name in chosen),
        "params": journal.params_text(parts.params),
        "asked": request.text(),
        "file": definition.file,
        "revision": revision(definition.file),
        "process": here(),
    }
    own = journal.begin(lake, target, row)
    return Runner(parts, lake, spark, target, own, _options(request, chosen, asked, reports)).go()


def _resumed(definition: Definition, lake: Lake, spark: SparkSession, request: Request, how: How) -> Run:
    name = definition.name
    number = journal.newest(lake, name) if how.resume is True else int(how.resume or 0)
    if number is None:
        raise NotFound("the pipeline has no run yet", subject=name, advice="Run it without resume.")
    opened_or_made(lake)  # an older Lakebed may have begun it, and noted less
    own = journal.found(lake, number)
    row = own.row
    if row["pipeline"] != name:
        raise Invalid("this run is another pipeline's", subject=f"run {number}", found=row["pipeline"])
    if row["status"] == "discarded":
        raise Invalid("the run was discarded", subject=f"run {number}", advice="Run the pipeline again.")
    target = lake.catalog(f"{row['catalog']}@{row['into']}")
    asked = request.resumed(row.get("asked"), definition.params)
    parts = definition.parts(asked.params)
    chosen, began = asked.chosen(parts, target), row["started"] or datetime.now(UTC)
    options = _options(asked, chosen, asked.asked(parts.graph, began), _reports(how, lake, target, parts.graph))
    if row["status"] != "published":
        own.change(status="running", ended=None, error=None, process=here(), asked=asked.text())
    return Runner(parts, lake, spark, target, own, options).go()


def _reports(how: How, lake: Lake, target: Catalog, graph: Graph) -> list[Listener]:
    """Who hears what happens in the run."""
    listeners = [] if how.listener is None else [how.listener]
    if how.openlineage is not None and how.openlineage is not False:
        listeners.append(_openlineage(how.openlineage, lake, target, graph))
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


def _options(request: Request, chosen: Sequence[str], asked: Asked, listeners: Sequence[Listener]) -> Options:
    skipped = request.no_checks if isinstance(request.no_checks, str | list | tuple) else ()
    names = frozenset([skipped] if isinstance(skipped, str) else skipped)
    is_without = request.no_checks is True
    return Options(chosen, asked, request.publish, request.isolation, names, is_without, listeners)
