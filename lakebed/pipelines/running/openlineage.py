"""The events of a run as OpenLineage has them, for Marquez, DataHub and others: docs/internals/pipelines.md.

What a step read and made is read from the system tables, which have it before the step's event comes. An event that
can't be sent is a line in the log, and the run goes on.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, RunEvent, RunState
from openlineage.client.event_v2 import Run as RunId
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    OutputDatasetFacet,
    RunFacet,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
)

from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.running.run import CheckRun, Run, StepRun
from lakebed.pipelines.running.runner import Event

PRODUCER = "urn:lakebed"

JOBS = "lakebed"
"""The namespace of jobs, unless the variable `OPENLINEAGE_NAMESPACE` names another."""

_log = logging.getLogger("lakebed.pipelines")


class OpenLineage:
    """A listener that sends the events of one run: to a file, to a server, or where the client's settings say."""

    def __init__(self, where: str | bool, lake: Lake, target: Catalog, graph: Graph) -> None:
        self._lake, self._target, self._graph = lake, target, graph
        self._client = _client(where)
        self._namespace = os.environ.get("OPENLINEAGE_NAMESPACE", JOBS)

    def __call__(self, event: Event) -> None:
        try:
            for made in self._events(event):
                self._client.emit(made)
        except Exception as error:  # whatever a transport raises: a server that is away, a full disk
            _log.warning("OpenLineage did not get an event of run %s: %s", event.run.id, error)

    def _events(self, event: Event) -> Iterator[RunEvent]:
        if event.kind == "begin":
            yield self._of_run(event.run, RunState.START)
        elif event.kind == "step":
            yield self._of_step(event.run, event.about, RunState.START)
        elif event.kind == "done":
            yield self._step_ended(event.run, event.detail)
        elif event.kind == "end":
            yield self._run_ended(event.run)

    # The run.

    def _of_run(
        self, run: Run, state: RunState, facets: Mapping[str, RunFacet] | None = None, inputs: Any = None
    ) -> RunEvent:
        return self._event(state, self._uuid(run), run.pipeline, "PIPELINE", None, facets or {}, inputs)

    def _run_ended(self, run: Run) -> RunEvent:
        tables = sorted({check.table for check in run.checks})
        checked = [
            self._input(table, None, [check for check in run.checks if check.table == table]) for table in tables
        ]
        if run.error is None:
            return self._of_run(run, RunState.COMPLETE, None, checked)
        state = RunState.ABORT if run.status == "interrupted" else RunState.FAIL
        return self._of_run(run, state, _failure(str(run.error)), checked)

    def _uuid(self, run: Run) -> str:
        [row] = self._target.inspect("__runs", where=f"id = {run.id}").to_pylist()
        return str(row["uuid"])

    # Its steps.

    def _of_step(
        self,
        run: Run,
        step: str,
        state: RunState,
        facets: Mapping[str, RunFacet] | None = None,
        inputs: list[InputDataset] | None = None,
        outputs: list[OutputDataset] | None = None,
    ) -> RunEvent:
        own = self._uuid(run)
        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=own), job=parent_run.Job(namespace=self._namespace, name=run.pipeline)
        )
        about, name = self._graph.steps[step].comment, f"{run.pipeline}.{step}"
        number = str(uuid5(NAMESPACE_URL, f"{own}/{step}"))
        return self._event(state, number, name, "STEP", about, {"parent": parent, **(facets or {})}, inputs, outputs)

    def _step_ended(self, run: Run, step: StepRun) -> RunEvent:
        if step.status == "failed":
            return self._of_step(run, step.name, RunState.FAIL, _failure(step.error or ""))
        if step.status == "skipped":
            return self._of_step(run, step.name, RunState.COMPLETE)
        tables = self._graph.steps[step.name].outputs
        noted = self._target.inspect("__lineage", where=f"run = {run.id}").to_pylist()
        lineage = [row for row in noted if row["table"] in tables]
        read = {str(row["input_table"]): row["input_version"] for row in lineage}
        inputs = [self._input(table, version) for table, version in sorted(read.items())]
        rows = step.rows if len(tables) == 1 else None  # of a step of several tables nobody counts each
        outputs = [self._output(run, table, rows, lineage) for table in sorted(tables)]
        return self._of_step(run, step.name, RunState.COMPLETE, None, inputs, outputs)

    # Tables.

    def _input(self, table: str, version: str | None, checks: list[CheckRun] | None = None) -> InputDataset:
        facets: dict[str, DatasetFacet] = {}
        if version is not None:
            facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version)
        found: dict[str, InputDatasetFacet] = {}
        if checks:
            assertions = [_assertion(check) for check in checks]
            found["dataQualityAssertions"] = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                assertions=assertions
            )
        return InputDataset(namespace=self._lake.url, name=self._dataset(table), facets=facets, inputFacets=found)

    def _output(self, run: Run, table: str, rows: int | None, lineage: list[dict[str, Any]]) -> OutputDataset:
        made = self._target.branch(run.branch).table(table)
        fields = [
            schema_dataset.SchemaDatasetFacetFields(name=field.name, type=str(field.type))
            for field in made.schema.fields
        ]
        facets: dict[str, DatasetFacet] = {"schema": schema_dataset.SchemaDatasetFacet(fields=fields)}
        columns = [row for row in lineage if row["table"] == table and row["column"] and row["input_column"]]
        if columns:
            facets["columnLineage"] = self._columns(columns)
        counted = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
        statistics: dict[str, OutputDatasetFacet] = {} if rows is None else {"outputStatistics": counted}
        return OutputDataset(
            namespace=self._lake.url, name=self._dataset(table), facets=facets, outputFacets=statistics
        )

    def _columns(self, lineage: list[dict[str, Any]]) -> column_lineage_dataset.ColumnLineageDatasetFacet:
        by_column: dict[str, list[column_lineage_dataset.InputField]] = {}
        for row in lineage:
            source = column_lineage_dataset.InputField(
                namespace=self._lake.url, name=self._dataset(row["input_table"]), field=row["input_column"]
            )
            by_column.setdefault(row["column"], []).append(source)
        fields = {
            column: column_lineage_dataset.Fields(inputFields=sources) for column, sources in sorted(by_column.items())
        }
        return column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields)

    def _dataset(self, table: str) -> str:
        return f"{self._target.name}.{table}"

    def _event(
        self,
        state: RunState,
        run: str,
        job: str,
        kind: str,
        about: str | None,
        facets: Mapping[str, RunFacet],
        inputs: list[InputDataset] | None = None,
        outputs: list[OutputDataset] | None = None,
    ) -> RunEvent:
        of_job: dict[str, Any] = {
            "jobType": job_type_job.JobTypeJobFacet(processingType="BATCH", integration="LAKEBED", jobType=kind)
        }
        if about:
            of_job["documentation"] = documentation_job.DocumentationJobFacet(description=about)
        return RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=PRODUCER,
            eventType=state,
            run=RunId(runId=run, facets=dict(facets)),
            job=Job(namespace=self._namespace, name=job, facets=of_job),
            inputs=inputs or [],
            outputs=outputs or [],
        )


def _client(where: str | bool) -> OpenLineageClient:
    if where is True:
        return OpenLineageClient()
    address = str(where)
    if address.startswith(("http://", "https://")):
        return OpenLineageClient(config={"transport": {"type": "http", "url": address}})
    return OpenLineageClient(config={"transport": {"type": "file", "log_file_path": address, "append": True}})


def _failure(message: str) -> dict[str, RunFacet]:
    return {"errorMessage": error_message_run.ErrorMessageRunFacet(message=message, programmingLanguage="PYTHON")}


def _assertion(check: CheckRun) -> data_quality_assertions_dataset.Assertion:
    return data_quality_assertions_dataset.Assertion(
        assertion=check.name,
        success=check.passed,
        severity=check.severity,
        description=check.message or None,
        actual=None if check.failed is None else f"{check.failed} rows failed",
    )
