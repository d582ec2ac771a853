"""A project of Spark Declarative Pipelines, read and made into a pipeline."""

from collections.abc import Iterator
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.errors import Invalid, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.declarative.analysis import Analysis, stored_name
from lakebed.pipelines.declarative.bound import Reading
from lakebed.pipelines.declarative.datasets import hook_of, step_of
from lakebed.pipelines.declarative.definitions import Dataset, Kind
from lakebed.pipelines.declarative.loading import load
from lakebed.pipelines.declarative.registry import Registry
from lakebed.pipelines.declarative.scope import SPARKS_CATALOG, Scope, scope_of
from lakebed.pipelines.declarative.spec import Spec, read_spec, spec_path
from lakebed.pipelines.declarative.sql_files import read_sql
from lakebed.pipelines.declarative.wanted import Asked, Wanted
from lakebed.pipelines.pipeline import Pipeline
from lakebed.spark.session import configured


def spark_pipeline(path: Path, lake: Lake, spark: SparkSession, into: str = "main") -> Pipeline:
    """The pipeline that a project defines, over the tables that a branch has."""
    spec = read_spec(spec_path(path))
    catalog = _catalog(spec, lake)
    line = lake.catalog(f"{catalog}@{into}")
    scope = scope_of(spec.catalog, catalog, spec.database)
    registry = Registry(scope, read_sql)
    notes: list[str] = []
    settings = dict(_settings(spec, spark, notes))
    with configured(spark, settings):
        load(spec, registry, spark, lambda wanted: _stored(wanted, line, scope, spark))
    reading = Reading(spark, spec.folder, settings)
    analysis = Analysis(spark, line, registry.datasets, registry.flows_into(), reading)
    found = analysis.run()
    if not any(one.dataset.kind is not Kind.TEMPORARY_VIEW for one in found.values()):
        raise Invalid(
            "the project defines no table",
            subject=str(spec.path),
            found=", ".join(map(str, spec.libraries)) or "no libraries",
            advice="Check libraries: they name the files with definitions.",
        )
    pipeline = Pipeline(spec.name)
    pipeline.catalog, pipeline.file = catalog, str(spec.path.resolve())
    for one in found.values():
        notes += _notes(one.dataset)
        if one.dataset.kind is Kind.SINK:
            pipeline._hooks.append(hook_of(one, catalog))
        else:
            pipeline._add(step_of(one, found))
    pipeline.notes = tuple(notes)
    return pipeline


def _catalog(spec: Spec, lake: Lake) -> str:
    """The lake's catalog that a project publishes."""
    if spec.catalog is None or spec.catalog == SPARKS_CATALOG:
        return DEFAULT
    try:
        return lake.catalog(spec.catalog).name
    except NotFound as error:
        error.subject = f"{spec.path}, catalog"
        error.advice = f"Create it: lake.create_catalog({spec.catalog!r}), or leave catalog out."
        raise


def _settings(spec: Spec, spark: SparkSession, notes: list[str]) -> Iterator[tuple[str, str]]:
    """The settings of a spec that a running session can change; the others had to be there when it began."""
    for name, value in (spec.configuration or {}).items():
        if spark.conf.get(name, None) == value:
            continue
        try:
            with configured(spark, {name: value}):
                yield name, value
        except PySparkException:
            notes.append(f"configuration: {name} can't be changed in a running session; start it with {name}={value}")


def _stored(wanted: Asked, line: Catalog, scope: Scope, spark: SparkSession) -> DataFrame | None:
    """The rows of a table or view of the lake, for what files read while they are run."""
    name = stored_name(line, scope.full(wanted.parts))
    if name is None:
        return None
    if not isinstance(wanted, Wanted):
        raise Invalid("a stream is read by a flow", subject=wanted.spelled, advice="Read it inside a function.")
    if line.view_exists(name):
        return line.sql(spark, f"SELECT * FROM {name}")  # type: ignore[return-value]
    table = line.table(name) if wanted.at is None else line.table(name).at(wanted.at)
    return table.read(spark).alias(wanted.parts[-1])


def _notes(dataset: Dataset) -> Iterator[str]:
    """What of a dataset's definition has no effect."""
    if dataset.format is not None and dataset.kind is not Kind.SINK:
        yield f"{dataset.name} ({dataset.place}): format {dataset.format} is ignored: tables of a lake are Parquet"
