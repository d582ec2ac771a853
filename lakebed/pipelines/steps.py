"""Steps: functions with the inputs that their parameters name, and what becomes of the rows that they answer."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from lakebed.errors import Invalid
from lakebed.pipelines.expectations import Expectation
from lakebed.pipelines.flows import Flow, Values
from lakebed.pipelines.inputs import Appended, Changed, Given, Input, Read, Source, Streamed
from lakebed.pipelines.windows import Schedule
from lakebed.pipelines.writes import Write

Function = Callable[..., Any]
Evolve = Literal["add", "fail", "replace"]
EVOLVE = ("add", "fail", "replace")
INPUTS = (Read, Changed, Appended, Streamed)

OWN = Path(__file__).parent

ALWAYS = "always"
"""The version of a step that runs each time, since its rows depend on more than its code and inputs."""


@dataclass(frozen=True, slots=True)
class Step:
    """A function, its inputs by parameter, and the tables that its rows go to; none for a view."""

    name: str
    function: Function
    inputs: Mapping[str, Source]
    outputs: tuple[str, ...] = ()
    write: Write = field(default_factory=lambda: Write("replace"))
    expectations: Mapping[str, tuple[Expectation, ...]] = field(default_factory=dict)
    """Conditions by the table that they are for."""
    window: Schedule | None = None
    schema: Any = None
    evolve: Evolve = "add"
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    retries: int = 0
    tags: tuple[str, ...] = ()
    owner: str | None = None
    version: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True
    comment: str | None = None
    text: str | None = None
    """The query of an SQL step."""
    properties: Mapping[str, str] = field(default_factory=dict)
    flows: tuple[Flow, ...] = ()
    """The streams that add rows to its table; none for a step that makes its rows at once."""
    kept: str | None = None
    """The query of a view that the lake keeps, too; its names are whole."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Primary keys by the table that they are of, where tables have different ones."""

    def answer(self, values: Values) -> Any:
        """What its function answers, given the values of its parameters by their names."""
        return self.function(**{parameter: values(parameter) for parameter in self.inputs})

    @property
    def is_view(self) -> bool:
        """Whether it is evaluated where it is used, and not stored."""
        return not self.outputs

    @property
    def short_name(self) -> str:
        """What parameters of other steps call it: its function's name."""
        return name_of(self.function)

    @property
    def place(self) -> str | None:
        """The file and the line of its function; None for a query, and a function of Lakebed's own."""
        code = getattr(inner_of(self.function), "__code__", None)
        if code is None or Path(code.co_filename).is_relative_to(OWN):
            return None
        return f"{Path(code.co_filename).name}:{code.co_firstlineno}"

    def key(self, table: str) -> tuple[str, ...]:
        """The primary key of one of its tables."""
        return self.keys.get(table, self.primary_key)


def inner_of(function: Function) -> Function:
    """The function inside of a `functools.partial`."""
    while isinstance(function, partial):
        function = function.func
    return function


def name_of(function: Function) -> str:
    """A function's name; of an object that can be called, its class."""
    inner = inner_of(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def inputs_of(function: Function, given: Mapping[str, str | Input] | None = None) -> dict[str, Source]:
    """Where each parameter's value comes from; `given` says it for functions without default values."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise Invalid("this is not a step", expected="a function", found=f"{function!r:.80}") from None
    asked = dict(given or {})
    found: dict[str, Source] = {}
    name = name_of(function)
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise Invalid(
                "a step's inputs are its parameters by name",
                subject=name,
                found=str(parameter),
                advice="Name each input as a parameter of its own.",
            )
        if parameter.name in asked:
            source = asked.pop(parameter.name)
            found[parameter.name] = Read(source) if isinstance(source, str) else source
        elif isinstance(parameter.default, INPUTS):
            found[parameter.name] = parameter.default
        elif parameter.default is parameter.empty:
            found[parameter.name] = Given(parameter.name)
    if asked:
        raise Invalid(
            "inputs= names parameters that the function does not have",
            subject=name,
            expected=", ".join(parameter.name for parameter in inspect.signature(function).parameters.values()),
            found=", ".join(asked),
        )
    return found


def words(given: str | Sequence[str] | None, what: str) -> tuple[str, ...]:
    """A list of texts as people give it; one text is a list of one."""
    if given is None:
        return ()
    listed = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(word, str) and word for word in listed):
        raise Invalid(f"{what} are texts", found=f"{given!r:.80}")
    return listed


def check_retried(step: Step) -> None:
    """`Invalid` if rows of a step's quarantine can't be given to it again: it makes whole tables or parts."""
    if step.write.mode in ("replace", "partitions") or step.window is not None or not step.outputs:
        raise Invalid(
            "a quarantine is fed again to steps that add rows to those that are there",
            subject=f"step {step.name}",
            expected="write=append, upsert, merge or scd2, without a window",
            found="a window" if step.window is not None else step.write.mode,
            advice="Repair the rows of its input, and run it: it makes these rows again from them.",
        )
