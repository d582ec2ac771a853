"""A pipeline: functions from tables to tables, run on a branch, checked, and published by one merge."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.errors import Invalid
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.checks import Check
from lakebed.pipelines.decisions import Asked
from lakebed.pipelines.expectations import Expectation
from lakebed.pipelines.facts import fact_of
from lakebed.pipelines.graph import Graph, graph_of
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.inputs import Input
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.plan import Plan, plan
from lakebed.pipelines.sql import sql_function, sql_inputs
from lakebed.pipelines.steps import EVOLVE, Evolve, Function, Step, check_retried, inputs_of, words
from lakebed.pipelines.windows import Schedule, moment_of
from lakebed.pipelines.writes import Mode, Write, parse_write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.pipelines.running.run import Run
    from lakebed.pipelines.running.runner import Listener

F = TypeVar("F", bound=Callable[..., Any])

Names = str | Sequence[str] | None
Given_ = Mapping[str, str | Input] | None


class Pipeline:
    """Steps, views, checks and hooks, by decorators on it. A decorated function stays the function that it was.

    `namespace` is where tables are that a step does not name. `params` are values that steps get by name. `catalog` is
    the lake's catalog that its tables are in.
    """

    def __init__(
        self,
        name: str,
        *,
        namespace: str | None = None,
        params: Mapping[str, Any] | None = None,
        catalog: str = DEFAULT,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise Invalid("a pipeline has a name", expected="text", found=repr(name))
        self.name = name
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
        """A step that makes several tables, in one commit: it yields `lp.rows(table, frame)` for each of them."""
        if not names:
            raise Invalid("name the tables", expected='@shop.tables("sales.orders", "sales.items")')

        def decorate(function: F) -> F:
            full = tuple(self._named(name) for name in names)
            by_table = {self._named(table): tuple(found) for table, found in (expect or {}).items()}
            unknown = sorted(set(by_table) - set(full))
            if unknown:
                raise Invalid("the step does not make this table", subject=", ".join(unknown), expected=", ".join(full))
            self._add(self._step(self._named(function.__name__), function, full, by_table, options))
            return function

        return decorate

    def view(self, function: F | None = None, *, inputs: Given_ = None, version: str | None = None) -> Any:
        """A step that is not stored: it is evaluated where it is used. `@shop.view` above its function."""

        def decorate(function: F) -> F:
            self._add(Step(function.__name__, function, inputs_of(function, inputs), version=version))
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
                self._checks.append(check)
            return None
        if on is None:
            raise Invalid("a check is of a table", expected='@shop.check(on="sales.orders")')

        def decorate(function: F) -> F:
            found = inputs_of(function, inputs)
            self._checks.append(
                Check(name or function.__name__, self._named(on), _severity(severity), whole, function, found)
            )
            return function

        return decorate

    def after_publish(self, function: F | None = None, *, retries: int = 0, inputs: Given_ = None) -> Any:
        """A function that is called after a run was published, at least once: mails, caches, other systems."""

        def decorate(function: F) -> F:
            self._hooks.append(Hook(function.__name__, function, inputs_of(function, inputs), retries))
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
        return graph_of(self._steps, {**self.params, **params})

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
        values = self._params(params)
        graph, target = self.graph(**values), _target(lake, self.catalog, into)
        codes = self._parts(graph, values).codes()
        chosen = graph.select(select, exclude)
        if changed:
            chosen = _changed(graph, codes, target, chosen)
        asked = _asked(graph, from_, to, full_refresh, force)
        known = plan(self.name, graph, codes, target, chosen, asked, len(self._checks))
        return known if spark is None else _dried(known, graph, target, spark, values)

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
        values = self._params(params)
        graph = self.graph(**values)
        parts, target = self._parts(graph, values), _target(lake, self.catalog, into)
        chosen = graph.select(select, exclude)
        return _run_on_spark(
            parts,
            lake,
            spark,
            target,
            chosen=_changed(graph, parts.codes(), target, chosen) if changed else chosen,
            asked=_asked(graph, from_, to, full_refresh, force, retry),
            resume=resume,
            publish=publish,
            isolation=isolation,
            no_checks=no_checks,
            breaking=breaking,
            wait=wait,
            author=author,
            listener=listener,
            openlineage=openlineage,
        )

    def __repr__(self) -> str:
        return f"Pipeline {self.name}: {', '.join(step.name for step in self._steps)}"

    # How.

    def _table(self, name: str | None, options: dict[str, Any]) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            full = self._named(name or function.__name__)
            expectations = {full: tuple(options.get("expect", ()))}
            rest = {key: value for key, value in options.items() if key != "expect"}
            self._add(self._step(full, function, (full,), expectations, rest))
            return function

        return decorate

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
        key = words(known.get("primary_key"), "the columns of a primary key")
        if write.mode == "scd2" and not key:
            key = (*write.on, "valid_from")
        for expectation in (one for listed in expectations.values() for one in listed):
            if not isinstance(expectation, Expectation):
                raise Invalid("this is not an expectation", expected="lp.expect(…)", found=f"{expectation!r:.80}")
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
            (function.__doc__ or "").strip() or None,
            text,
        )

    def _add(self, step: Step) -> None:
        taken = {name for known in self._steps for name in (known.name, *known.outputs)}
        for name in (step.name, *step.outputs):
            if name in taken:
                raise Invalid("two steps have one name", subject=name, advice="A table is written by one step.")
        self._steps.append(step)

    def _named(self, name: str) -> str:
        if "." in name or self.namespace is None:
            return name
        return f"{self.namespace}.{name}"

    def _params(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        unknown = sorted((given or {}).keys() - self.params.keys())
        if unknown:
            raise Invalid(
                "the pipeline has no such parameter",
                subject=", ".join(unknown),
                expected=", ".join(self.params) or "none",
            )
        return {**self.params, **(given or {})}

    def _parts(self, graph: Graph, params: Mapping[str, Any]) -> Parts:
        return Parts(self.name, graph, params, self._checks, self._hooks)


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


def _target(lake: Lake, catalog: str, into: str) -> Catalog:
    found = lake.catalog(into if "@" in into else f"{catalog}@{into}")
    found._line.check_live("run")
    return found


def _asked(graph: Graph, first: Any, last: Any, full_refresh: Names, force: bool, retry: Names = None) -> Asked:
    refreshed = frozenset() if full_refresh is None else frozenset(graph.select(full_refresh))
    retried = frozenset() if retry is None else frozenset(graph.select(retry))
    for name in sorted(retried):
        check_retried(graph.steps[name])
    return Asked(
        force,
        refreshed,
        retried,
        None if first is None else moment_of(first, "from_"),
        None if last is None else moment_of(last, "to"),
        datetime.now(UTC).replace(tzinfo=None),
    )


def _changed(graph: Graph, codes: Mapping[str, str], target: Catalog, chosen: Sequence[str]) -> list[str]:
    """Of the chosen steps those whose code has changed, and all that read them."""
    found: set[str] = set()
    for name in graph.order:
        step = graph.steps[name]
        facts = [fact_of(target.table(table)) for table in step.outputs if target.table_exists(table)]
        if not step.is_view and (not facts or any(fact is None or fact.code != codes[name] for fact in facts)):
            found |= graph.reach(name, down=True)
    return [name for name in chosen if name in found]


def _severity(given: str) -> Any:
    if given not in ("error", "warn"):
        raise Invalid("a check is an error or a warning", expected="error or warn", found=repr(given))
    return given


def _run_on_spark(parts: Parts, lake: Lake, spark: "SparkSession", target: Catalog, **asked: Any) -> "Run":
    from lakebed.pipelines.start import Request, start

    return start(parts, lake, spark, target, Request(**asked))


def _dried(known: Plan, graph: Graph, target: Catalog, spark: "SparkSession", params: Mapping[str, Any]) -> Plan:
    from lakebed.pipelines.dry import dried

    return dried(known, graph, target, spark, params)
