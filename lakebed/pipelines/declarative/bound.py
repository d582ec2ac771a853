"""A flow with what its names mean: how its rows are made, in the project's folder and with its settings."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import Invalid
from lakebed.lake.sql.read import is_temporary
from lakebed.pipelines.declarative.definitions import Dataset, DefinedFlow
from lakebed.pipelines.declarative.wanted import Asked, Find, Parts
from lakebed.pipelines.flows import Values
from lakebed.pipelines.inputs import Input, Read, Streamed
from lakebed.spark.session import configured


@dataclass(frozen=True, slots=True)
class Reading:
    """Where and how the functions of a project are called."""

    spark: SparkSession
    folder: Path
    configuration: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BoundFlow:
    """A flow, and under which parameter it gets what it asks for; None for what is Spark's own."""

    dataset: Dataset
    flow: DefinedFlow
    reading: Reading
    asked: dict[Asked, str | None]

    @property
    def conf(self) -> dict[str, str]:
        """The settings that it is evaluated and run with."""
        return {**self.reading.configuration, **self.flow.conf}

    @property
    def code(self) -> str:
        """What it would do, so that a change is seen."""
        settings = [f"{name}={value}" for name, value in sorted(self.conf.items())]
        cdc = [] if self.flow.cdc is None else [repr(self.flow.cdc)]
        return "\n".join([*settings, *cdc, self.flow.query.code])

    def rows(self, values: Values) -> DataFrame:
        """Its rows, given the values of its parameters."""

        def find(wanted: Asked) -> DataFrame | None:
            if wanted not in self.asked:
                if is_own_view(self.reading.spark, wanted.parts):
                    return None
                raise Invalid(
                    "the flow reads another table than when it was planned",
                    subject=f"{self.dataset.name}, {self.flow.place}",
                    found=wanted.spelled,
                    expected=", ".join(known.spelled for known in self.asked) or "none",
                    advice="Let it read the same tables each time that it is called.",
                )
            parameter = self.asked[wanted]
            return None if parameter is None else values(parameter)

        return self.evaluated(find)

    def evaluated(self, find: Find) -> DataFrame:
        """Its rows; `find` answers what it asks for, which is known by the last part of its name, as in Spark."""

        def named(wanted: Asked) -> DataFrame | None:
            found = find(wanted)
            return None if found is None else found.alias(wanted.parts[-1])

        with _in_folder(self.reading.folder), configured(self.reading.spark, self.conf):
            return self.flow.query.rows(self.reading.spark, named, self.flow.scope.database)


def is_own_view(spark: SparkSession, parts: Parts) -> bool:
    """Whether a name is a temporary view of the session's, as a DataFrame that is named in a text is one."""
    return len(parts) == 1 and is_temporary(spark, parts[0])


def parameter_of(asked: Input) -> str:
    """The name of the parameter by which a step gets an input."""
    match asked:
        case Streamed():
            options = [str(one) for one in (asked.max_files, asked.max_bytes) if one is not None]
            return " ".join(["stream", asked.name, *options, *(["ignore"] if asked.on_change == "ignore" else [])])
        case Read(at=at) if at is not None:
            return f"{asked.name} at {at}"
        case _:
            return asked.name


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Paths of a project begin at its folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
