"""Pipelines: functions from tables to tables, run on a branch by Spark, checked, and published by one merge.

`from lakebed import pipelines as lp`. docs/guide/pipelines.md shows how.
"""

from lakebed.pipelines.checks import Result, accepted, equal, fresh, not_null, references, row_count, unique
from lakebed.pipelines.expectations import expect
from lakebed.pipelines.files import spark_pipeline
from lakebed.pipelines.inputs import appended, changes, read
from lakebed.pipelines.pipeline import Pipeline
from lakebed.pipelines.plan import Plan, PlannedStep
from lakebed.pipelines.rows import rows
from lakebed.pipelines.running.run import Run
from lakebed.pipelines.steps import ALWAYS as always
from lakebed.pipelines.windows import Window, daily, hourly, monthly
from lakebed.pipelines.writes import merge, scd2

__all__ = [
    "Pipeline",
    "Plan",
    "PlannedStep",
    "Result",
    "Run",
    "Window",
    "accepted",
    "always",
    "appended",
    "changes",
    "daily",
    "equal",
    "expect",
    "fresh",
    "hourly",
    "merge",
    "monthly",
    "not_null",
    "read",
    "references",
    "row_count",
    "rows",
    "scd2",
    "spark_pipeline",
    "unique",
]
