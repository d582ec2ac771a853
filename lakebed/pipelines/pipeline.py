"""A pipeline: functions from tables to tables, run on a branch, checked, and published by one merge."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.errors import Invalid
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.checks import Check
from lakebed.pipelines.definition import Definition
from lakebed.pipelines.expectations import Expectation, check_expectations
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.inputs import Input
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.plan import Plan, plan
from lakebed.pipelines.records.request import How, Isolation, Names, Request
from lakebed.pipelines.sql import sql_function, sql_inputs
from lakebed.pipelines.steps import EVOLVE, Evolve, Function, Step, inner_of, inputs_of, name_of, words
from lakebed.pipelines.windows import Schedule, length_of
from lakebed.pipelines.writes import Mode, Write, parse_write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.pipelines.running.run import Run
    from lakebed.pipelines.running.runner import Listener

F = TypeVar("F", bound=Callable[..., Any])

Given_ = Mapping[str, str | Input] | None


class Pipeline:
    """Steps, views, checks and hooks, by decorators on it. A decorated function stays the function that it was.

    `namespace` is where tables are that a step does not name. `params` are values that steps get by name. `catalog` is
    the lake's catalog that its tables are in, `keep` how long the branch of a run that was not published stays.
    """

    def __init__(
        self,
        name: str,
        *,
        namespace: str | None = None,
        params: Mapping[str, Any] | None = None,
        catalog: str = DEFAULT,
        keep: timedelta | str = "14 days",
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise Invalid("a pipeline has a name", expected="text", found=repr(name))
        self.name = name
        self.keep = length_of(keep, "keep")
        self.file = _calling_file()
        self.namespace = namespace
        self.params: dict[str, Any] = dict(params or {})
        self._steps: list[Step] = []
        self._checks: list[Check] = []
        self._hooks: list[Hook] = []
        self.catalog = catalog
        self.notes: tuple[str, ...] = ()
        """What of a project's definitions has no effect."""

    # What it is made of.

    @overload
    def table(self, name: F, /) -> F: ...

    @overload
    def table(
        self,
        name: str | None = None,
        *,
        write: Mode | Write = "replace",
        primary_key: Names = None,
        partition_by: Names = None,
        sort_by: Names = None,
        schema: Any = None,
        evolve: Evolve = "add",
        expect: Sequence[Expectation] = (),
        window: Schedule | None = None,
        retries: int = 0,
        tags: Names = None,
        owner: str | None = None,
        version: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        enabled: bool = True,
        inputs: Given_ = None,
    ) -> Callable[[F], F]: ...

    def table(self, name: Any = None, **options: Any) -> Any:
        """A step whose rows become a table: `@shop.table(primary_key=["id"], write="upsert")` above its function.

        The table is `name`, or the function's name in the pipeline's namespace; its comment is the docstring. `write`
        is replace (the rows are the answer), append, upsert, partitions, `lp.merge(…)` or `lp.scd2(…)`. `expect` are
        conditions on rows, `window` makes it window by window. `schema` is exact; `evolve` says what happens when the
        columns change: add new ones, fail, or replace. `version` replaces the code in the fingerprint: with
        `lp.always` the step runs each time.
        """
        if callable(name):
            return self._table(None, {})(name)
        return self._table(name, options)

    def tables(self, *names: str, expect: Mapping[str, Sequence[Expectation]] | None = None, **options: Any) -> Any:
        """A step that makes several tables, in one commit: it yields `lp.rows(table, frame)` for each of them.

        `expect` and `schema` are given by table; so is `primary_key`, unless all tables have the same.
        """
        if not names:
            raise Invalid("name the tables", expected='@shop.tables("sales.orders", "sales.items")')

        def decorate(function: F) -> F:
            full = tuple(self._named(name) for name in names)
            expected = {table: tuple(found) for table, found in self._by_table(expect or {}, full).items()}
            rest = dict(options)
            for option in ("schema", "primary_key"):
                if isinstance(rest.get(option), Mapping):
                    rest[option] = self._by_table(rest[option], full)
            self._add(self._step(self._named(name_of(function)), function, full, expected, rest))
            return function

        return decorate

    def view(self, function: F | None = None, *, inputs: Given_ = None, version: str | None = None) -> Any:
        """A step that is not stored: it is evaluated where it is used. `@shop.view` above its function."""

        def decorate(function: F) -> F:
            self._add(Step(name_of(function), function, inputs_of(function, inputs), version=version))
            return function

        return decorate if function is None else decorate(function)

    def sql(self, name: str, text: str | Path, **options: Any) -> Function:
        """A step that is a query, as text or a file: `{orders}` is a step or a view, `{raw.orders}` a table."""
        query = text.read_text(encoding="utf-8") if isinstance(text, Path) else text
        full = self._named(name)
        function = sql_function(query, full)
        expectations = {full: tuple(options.pop("expect", ()))}
        step = self._step(full, function, (full,), expectations, options, inputs=sql_inputs(query), text=query)
        self._add(step)
        return function

    def check(
        self,
        *checks: Check,
        on: str | None = None,
        severity: str = "error",
        name: str | None = None,
        whole: bool = False,
        inputs: Given_ = None,
    ) -> Any:
        """Checks of whole tables, before publishing: `shop.check(lp.unique("sales.orders", "id"))`.

        Above a function, `@shop.check(on="sales.orders")`, it is a check of your own: it answers a bool, a DataFrame of
        bad rows, or `lp.Result(…)`. With severity `warn` a failure is noted, and the run is published.
        """
        if checks:
            for check in checks:
                if not isinstance(check, Check):
                    raise Invalid("this is not a check", expected="such as lp.unique(…)", found=f"{check!r:.80}")
                self._add_check(check)
            return None
        if on is None:
            raise Invalid("a check is of a table", expected='@shop.check(on="sales.orders")')

        def decorate(function: F) -> F:
            found = inputs_of(function, inputs)
            self._add_check(
                Check(name or name_of(function), self._checked(on), _severity(severity), whole, function, found)
            )
            return function

        return decorate

    def after_publish(self, function: F | None = None, *, retries: int = 0, inputs: Given_ = None) -> Any:
        """A function that is called after a run was published, at least once: mails, caches, other systems."""

        def decorate(function: F) -> F:
            self._hooks.append(Hook(name_of(function), function, inputs_of(function, inputs), retries))
            return function

        return decorate if function is None else decorate(function)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its steps and views, as they were written."""
        return tuple(self._steps)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Its checks."""
        return tuple(self._checks)

    def graph(self, **params: Any) -> Graph:
        """Which step reads which; `Invalid` for inputs that nobody has, and circles. A notebook draws it."""
        return self._definition().graph(params)

    # What it does.

    def plan(
        self,
        lake: Lake,
        spark: "SparkSession | None" = None,
        *,
        into: str = "main",
        select: Names = None,
        exclude: Names = None,
        changed: bool = False,
        params: Mapping[str, Any] | None = None,
        from_: date | str | None = None,
        to: date | str | None = None,
        full_refresh: Names = None,
        force: bool = False,
    ) -> Plan:
        """What a run would do now, and why. Nothing is changed, and no job runs.

        Without Spark: the graph, which steps run, their windows, how many rows are new. With it, every function is
        evaluated over empty frames: types and contracts of the whole graph, and who reads columns that would go.
        """
        asked = Request(self._into(into), select, exclude, changed, params or {}, from_, to, full_refresh, force=force)
        parts, target = self._definition().parts(params), asked.target(lake)
        known = plan(parts, target, asked.chosen(parts, target), asked.asked(parts.graph))
        return known if spark is None else _dried(known, parts, target, spark)

    def run(
        self,
        lake: Lake,
        spark: "SparkSession",
        *,
        into: str = "main",
        select: Names = None,
        exclude: Names = None,
        changed: bool = False,
        params: Mapping[str, Any] | None = None,
        from_: date | str | None = None,
        to: date | str | None = None,
        full_refresh: Names = None,
        retry: Names = None,
        force: bool = False,
        resume: int | bool | None = None,
        publish: bool = True,
        isolation: str = "snapshot",
        no_checks: bool | Names = None,
        breaking: bool = False,
        wait: bool = False,
        author: str | None = None,
        listener: "Listener | None" = None,
        openlineage: str | bool | None = None,
    ) -> "Run":
        """Run the steps on a branch, check what they made, and publish all of it by one merge into `into`.

        What goes wrong is the run's status and `error`, and the branch stays: repair it, and `resume` the run by its
        number, or the last one with `True`. Steps whose code and inputs are as they were are skipped. With
        `publish=False` the branch is left for a look. `isolation="serializable"` runs again if others change an input
        before it is published. `retry` names steps that get the rows of their quarantine again. A second run while one
        goes on is `Held`, unless it is to `wait`. `openlineage` sends its events to a file or a server, or with `True`
        to where the client's own settings say.
        """
        asked = Request(
            self._into(into),
            select,
            exclude,
            changed,
            params or {},
            from_,
            to,
            full_refresh,
            retry,
            force,
            publish,
            cast("Isolation", isolation),
            no_checks,
            breaking,
        )
        how = How(resume, wait, author, listener, openlineage)
        return _run_on_spark(self._definition(), lake, spark, asked, how)

    def __repr__(self) -> str:
        return f"Pipeline {self.name}: {', '.join(step.name for step in self._steps)}"

    # How.

    def _table(self, name: str | None, options: dict[str, Any]) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            full = self._named(name or name_of(function))
            expectations = {full: tuple(options.get("expect", ()))}
            rest = {key: value for key, value in options.items() if key != "expect"}
            self._add(self._step(full, function, (full,), expectations, rest))
            return function

        return decorate

    def _by_table(self, given: Mapping[str, Any], tables: Sequence[str]) -> dict[str, Any]:
        found = {self._named(table): value for table, value in given.items()}
        unknown = sorted(found.keys() - set(tables))
        if unknown:
            raise Invalid("the step does not make this table", subject=", ".join(unknown), expected=", ".join(tables))
        return found

    def _step(
        self,
        name: str,
        function: Function,
        outputs: tuple[str, ...],
        expectations: Mapping[str, tuple[Expectation, ...]],
        options: Mapping[str, Any],
        inputs: Mapping[str, Any] | None = None,
        text: str | None = None,
    ) -> Step:
        known = dict(options)
        unknown = sorted(known.keys() - _OPTIONS)
        if unknown:
            raise Invalid("a step has no such option", subject=", ".join(unknown), expected=", ".join(sorted(_OPTIONS)))
        write = parse_write(known.get("write", "replace"))
        evolve = known.get("evolve", "add")
        if evolve not in EVOLVE:
            raise Invalid("a table can't evolve like this", expected=", ".join(EVOLVE), found=repr(evolve))
        found = inputs_of(function, known.get("inputs")) if inputs is None else dict(inputs)
        given = known.get("primary_key")
        keys = (
            {table: words(one, "the columns of a primary key") for table, one in given.items()}
            if isinstance(given, Mapping)
            else {}
        )
        key = () if keys else words(given, "the columns of a primary key")
        if write.mode == "scd2" and not key:
            key = (*write.on, "valid_from")
        for table, listed in expectations.items():
            check_expectations(listed, f"step {name}, table {table}")
        return Step(
            name,
            function,
            found,
            outputs,
            write,
            expectations,
            known.get("window"),
            known.get("schema"),
            evolve,
            key,
            words(known.get("partition_by"), "partition fields"),
            words(known.get("sort_by"), "the columns to sort by"),
            int(known.get("retries", 0)),
            words(known.get("tags"), "tags"),
            known.get("owner"),
            known.get("version"),
            dict(known.get("spark_conf") or {}),
            bool(known.get("enabled", True)),
            inspect.cleandoc(inner_of(function).__doc__ or "") or None,
            text,
            keys=keys,
        )

    def _add(self, step: Step) -> None:
        taken = {name for known in self._steps for name in (known.name, *known.outputs)}
        for name in (step.name, *step.outputs):
            if name in taken:
                raise Invalid("two steps have one name", subject=name, advice="A table is written by one step.")
        self._steps.append(step)

    def _add_check(self, check: Check) -> None:
        """A check with the name of another of its table gets a number."""
        taken, number, name = {(one.table, one.name) for one in self._checks}, 1, check.name
        while (check.table, name) in taken:
            number += 1
            name = f"{check.name} #{number}"
        self._checks.append(replace(check, name=name))

    def _named(self, name: str) -> str:
        if "." in name or self.namespace is None:
            return name
        return f"{self.namespace}.{name}"

    def _checked(self, name: str) -> str:
        """What a check is of: a view by its name, or a table."""
        return name if any(step.is_view and step.name == name for step in self._steps) else self._named(name)

    def _into(self, branch: str) -> str:
        return branch if "@" in branch else f"{self.catalog}@{branch}"

    def _definition(self) -> Definition:
        return Definition(
            self.name,
            tuple(self._steps),
            tuple(self._checks),
            tuple(self._hooks),
            self.params,
            self.keep,
            self.file,
        )


_OPTIONS = frozenset(
    {
        "write",
        "primary_key",
        "partition_by",
        "sort_by",
        "schema",
        "evolve",
        "window",
        "retries",
        "tags",
        "owner",
        "version",
        "spark_conf",
        "enabled",
        "inputs",
    }
)


def _severity(given: str) -> Any:
    if given not in ("error", "warn"):
        raise Invalid("a check is an error or a warning", expected="error or warn", found=repr(given))
    return given


def _calling_file() -> str | None:
    """The file that makes a pipeline; None at a prompt and in a notebook."""
    path = Path(sys._getframe(2).f_code.co_filename)
    return str(path.resolve()) if path.is_file() else None


def _run_on_spark(definition: Definition, lake: Lake, spark: "SparkSession", asked: Request, how: How) -> "Run":
    from lakebed.pipelines.start import start

    return start(definition, lake, spark, asked, how)


def _dried(known: Plan, parts: Parts, target: Catalog, spark: "SparkSession") -> Plan:
    from lakebed.pipelines.dry import dried

    return dried(known, parts, target, spark)
