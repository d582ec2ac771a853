"""The options that every word has, before or after it; and what a word is."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

COMPLETION = "_LAKEBED_COMPLETE"
"""The variable by which a shell asks for completions, as click's scripts set it."""


@dataclass(slots=True)
class Settings:
    """What the options of a call say."""

    lake: str | None = None
    on: str | None = None
    at: str | None = None
    json: bool = False
    quiet: bool = False
    yes: bool = False
    trace: bool = False


_MINUS = re.compile(r"-(\d+(?:\.\d+)?)")
_RESTORED = re.compile("\N{MINUS SIGN}(\\d+(?:\\.\\d+)?)")


def protected(arguments: list[str]) -> list[str]:
    """The arguments, with `-1` (the commit before the newest) in a form that click does not take for an option."""
    return [f"\N{MINUS SIGN}{found[1]}" if (found := _MINUS.fullmatch(one)) else one for one in arguments]


def restored(value: Any) -> Any:
    """An argument as it was typed."""
    found = _RESTORED.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else f"-{found[1]}"


def _restored_all(value: Any) -> Any:
    """The same for an argument or option that is given several times."""
    return tuple(map(_restored_all, value)) if isinstance(value, tuple) else restored(value)


def _keep(context: click.Context, option: click.Parameter, value: object) -> None:
    """Keep an option that is given, before the word or after it; the one after it wins."""
    if value:
        setattr(context.ensure_object(Settings), str(option.name), restored(value))


def _option(*names: str, text: str, metavar: str | None = None) -> click.Option:
    return click.Option(
        names,
        is_flag=metavar is None,
        metavar=metavar,
        help=text,
        expose_value=False,
        is_eager=True,  # first, so that errors of the word's own arguments are shown as asked
        callback=_keep,
    )


def common_options() -> list[click.Parameter]:
    """The options of every word."""
    return [
        _option("--lake", metavar="FOLDER", text="The lake; else LAKEBED_LAKE, else the nearest folder upwards."),
        _option("--on", metavar="REF", text="A branch, tag or share, instead of the one that you switched to."),
        _option("--at", metavar="MOMENT", text="A version, -1 for the one before the newest, or a time."),
        _option("--json", text="Answer in lines of JSON."),
        _option("--quiet", "-q", text="Print names only, and nothing about what was done."),
        _option("--yes", "-y", text="Do not ask before something is destroyed."),
        _option("--trace", text="Show the traceback of an error."),
    ]


class Word(click.Command):
    """A command with the common options, and with examples below its help."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.examples = tuple(examples)
        self.own_parameters = len(self.params)
        self.params += common_options()

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Parse the arguments, in which the group has protected `-1`."""
        rest = super().parse_args(context, arguments)
        context.params = {name: _restored_all(value) for name, value in context.params.items()}
        return rest

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The word's own options, then those of every word."""
        own, common = self.params[: self.own_parameters], self.params[self.own_parameters :]
        for title, parameters in (("Options", own), ("Options of every word", common)):
            options = [one for one in parameters if isinstance(one, click.Option)]
            rows = [row for one in options if (row := one.get_help_record(context))]
            if title.startswith("Options of"):
                rows.append(("--help", "Show this message."))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they are typed."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def word(*examples: str) -> Callable[[Callable[..., Any]], Word]:
    """Make a function a word of the command line: `cherry_pick_word` is `cherry-pick`, its docstring the help."""

    def made(function: Callable[..., Any]) -> Word:
        name = function.__name__.removesuffix("_word").replace("_", "-")
        settings = {"max_content_width": 100, "help_option_names": ["-h", "--help"]}
        return click.command(name, cls=Word, examples=examples, context_settings=settings)(function)

    return made
