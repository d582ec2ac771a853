"""The entry point: find the word, run it, and turn what it raises into a sentence and an exit code."""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from io import StringIO
from typing import NoReturn, TextIO, cast

import click
from click.shell_completion import shell_complete

from lakebed.cli.failures import FAILED, INTERRUPTED, USAGE, error_json, error_of_system, error_text, exit_code
from lakebed.cli.folding import folded_for
from lakebed.cli.settings import COMPLETION, Settings, common_options, protected
from lakebed.cli.values import installed_version, json_line, styled
from lakebed.cli.words import ELSEWHERE, SECTIONS, SENTENCES, WORDS, function_name
from lakebed.errors import LakebedError

DUCKDB = "_duckdb"
"""Its binding, nanobind, prints a page about leaks unless all of it is collected before the interpreter ends."""


class Words(click.Group):
    """The words, each of which is loaded when it is used."""

    has_process = False
    """Whether the process has no other purpose than this word."""

    def list_commands(self, context: click.Context) -> list[str]:
        """All words, in the order of the help."""
        return list(WORDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The word of this name, loaded now."""
        if name not in WORDS:
            return None
        gc.disable()  # what is imported stays: collecting among it took 13 of 300 ms
        try:
            module = import_module(f"lakebed.cli.commands.{WORDS[name].module}")
        finally:
            if self.has_process:
                gc.freeze()  # else the first full collection of the word looks at all of it: 30 of 300 ms
            gc.enable()
        command = cast("click.Command", getattr(module, function_name(name)))
        if COMPLETION in os.environ:
            import_module("lakebed.cli.completing").teach(command)
        return command

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Parse the arguments before the word, of which `-1` is not an option."""
        return super().parse_args(context, protected(arguments))

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The word that is called; a misspelt one gets a suggestion, and `help WORD` is `WORD --help`."""
        if context.resilient_parsing:  # a shell completes: nobody reads a suggestion
            return super().resolve_command(context, arguments)
        if arguments[0] == "help":
            arguments = [*arguments[1:2], "--help"]
        if arguments[0] == "--help":
            click.echo(context.get_help())
            context.exit()
        if not arguments[0].startswith("-") and arguments[0] not in WORDS:
            raise click.UsageError(f"There is no word {arguments[0]!r}. {_meant(arguments[0])}", context)
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The words by section, without loading them."""
        width = max(map(len, WORDS))
        for title, words in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", entry.help) for name, entry in words.items()])


def _meant(typed: str) -> str:
    """What somebody may have wanted who typed a word that is not there."""
    if typed in SENTENCES:
        return SENTENCES[typed]
    near = [ELSEWHERE[typed]] if typed in ELSEWHERE else get_close_matches(typed, WORDS, n=1)
    return f"Did you mean {near[0]}?" if near else "`lakebed --help` lists the words."


def _show_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"lakebed {installed_version()}")
        context.exit()


VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)


@click.group(
    cls=Words,
    params=[*common_options(), VERSION],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
    subcommand_metavar="WORD [ARGS]...",
    epilog="`lakebed WORD --help` shows the options and examples of a word.",
)
def lakebed() -> None:
    """A versioned lakehouse: tables with branches, merges and time travel."""


def main() -> NoReturn:
    """Run the command line of this process."""
    _open_closed_streams()
    lakebed.has_process = True
    code = run(sys.argv[1:])
    if DUCKDB in sys.modules:
        gc.unfreeze()
    else:
        gc.freeze()  # else the interpreter collects all that was imported before it ends: 35 of 270 ms
    sys.exit(code)


def _open_closed_streams() -> None:
    """Let streams that the shell closed (`>&-`) lead nowhere: a file of the lake must not get their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open until the end


def run(arguments: Sequence[str]) -> int:
    """Run one word, and answer the exit code."""
    if COMPLETION in os.environ:
        return shell_complete(lakebed, {}, "lakebed", COMPLETION, os.environ[COMPLETION])
    settings = Settings(json="--json" in arguments, trace="--trace" in arguments)
    try:
        code = _run(arguments, settings)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        _close(sys.stdout)
        return 0
    except BaseException as error:
        return _ended(error, settings)
    return code


def _ended(error: BaseException, settings: Settings) -> int:
    """Say why a word ended early, unless nobody reads the errors any more."""
    try:
        match error:
            case KeyboardInterrupt() | click.Abort():
                return _interrupted()
            case click.ClickException():
                return _misused(error, settings)
            case Exception():
                return _failed(error, settings)
    except BrokenPipeError:
        _close(sys.stderr)
        return exit_code(error) or FAILED
    raise error


def _run(arguments: Sequence[str], settings: Settings) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 gets escapes, not an error
    try:
        with lakebed.make_context("lakebed", list(arguments), obj=settings) as context:
            answer = lakebed.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return answer if isinstance(answer, int) else 0


def _close(stream: TextIO) -> None:
    """Let the interpreter's last flush of a stream go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupted() -> int:
    if lakebed.has_process:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not disturb the end
    click.echo("interrupted", err=True)
    return INTERRUPTED


def _misused(error: click.ClickException, settings: Settings) -> int:
    text = StringIO()
    if settings.json:
        click.echo(json_line({"error": "usage", "problem": error.format_message(), "exit": USAGE}), text)
    else:
        error.show(text)
    click.echo(text.getvalue().replace("\N{MINUS SIGN}", "-"), err=True, nl=False)  # the sign of `protected`
    return USAGE


def _failed(raised: Exception, settings: Settings) -> int:
    if settings.trace:
        traceback.print_exception(raised)
    error = error_of_system(raised) if isinstance(raised, OSError) else raised
    if settings.json:
        click.echo(error_json(error), err=True)
    elif isinstance(error, LakebedError):
        text = folded_for(sys.stderr, f"error: {error_text(error)}").removeprefix("error:")
        click.echo(f"{styled('error:', fg='red', bold=True)}{text}", err=True)
    else:
        click.echo(f"error: {type(error).__name__}: {error}\n  This is a bug: --trace shows where it is.", err=True)
    return exit_code(error) or FAILED
