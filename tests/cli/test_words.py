"""Every word that the page promises is there, says how it is used, and is a word of the API."""

import re
from pathlib import Path

import click
import pytest

from lakebed.cli.main import lakebed as group
from lakebed.cli.settings import Word
from lakebed.cli.words import SECTIONS, WORDS
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.lake.table import Table
from tests.cli.conftest import Cli

# The table of the issue, row by row: scripts rely on these, and none is ever renamed.
PROMISED = [
    *("init", "status", "doctor", "version", "completion"),
    *("ls", "show", "describe", "head", "count", "schema"),
    *("branch", "switch", "tag", "share"),
    *("log", "diff", "merge", "conflicts", "cherry-pick", "revert", "reset", "restore"),
    *("changes", "blame", "bisect", "edition", "stream", "partition"),
    *("create", "drop", "undrop", "dropped", "rename", "purge", "set", "evolve"),
    *("load", "import", "export", "query", "sql"),
    *("plan", "run", "runs", "lineage", "graph", "quarantine"),
    *("files", "explain", "history", "inspect", "usage"),
    *("compact", "checkpoint", "check", "backup"),
]

# Words of shells and of git, for which the API has calls of other names, and what these calls are.
OF_SHELLS = {
    "ls": "tables",
    "show": "log",
    "head": "scan",
    "count": "scan",
    "switch": "catalog",
    "conflicts": "merge_in_progress",
    "load": "append",
    "export": "scan",
    "files": "scan",
    "explain": "scan",
    "set": "set_properties",
    "plan": "inspect",
    "run": "merge",
    "runs": "inspect",
    "lineage": "inspect",
    "graph": "inspect",
    "quarantine": "scan",
}
OF_THE_PROGRAM = {"init", "status", "doctor", "version", "completion"}


def loaded(name: str) -> Word:
    with click.Context(group) as context:
        command = group.get_command(context, name)
    assert isinstance(command, Word)
    return command


every_word = pytest.mark.parametrize("name", list(WORDS))


def test_the_words_are_those_that_were_promised() -> None:
    assert list(WORDS) == PROMISED
    assert sum(len(section) for section in SECTIONS.values()) == len(WORDS)


@every_word
def test_help_of_every_word_has_an_example_that_begins_with_it(cli: Cli, name: str) -> None:
    answer = cli(name, "--help")
    assert answer.code == 0
    assert f"lakebed {name}" in answer.out.partition("Examples:")[2]
    assert "--json" in answer.out


@every_word
def test_a_word_has_the_name_and_the_help_that_the_overview_says(name: str) -> None:
    command = loaded(name)
    assert command.name == name
    assert command.help
    assert command.help.splitlines()[0].rstrip().endswith((".", ";", ":")) or "\n\n" in command.help


@every_word
def test_no_two_options_of_a_word_have_one_name(name: str) -> None:
    options = [option for parameter in loaded(name).params for option in (*parameter.opts, *parameter.secondary_opts)]
    repeated = {option for option in options if options.count(option) > 1 and option.startswith("-")}
    assert repeated - {"--create", "--append", "--overwrite", "--upsert"} == set()


@every_word
def test_the_words_of_the_command_line_are_words_of_the_api(name: str) -> None:
    calls = {call for kind in (Lake, Catalog, Table) for call in dir(kind) if not call.startswith("_")}
    if name in OF_SHELLS:
        assert OF_SHELLS[name] in calls
        return
    stem = name.replace("-", "_")
    kinds = {call.partition("_")[0] for call in calls} | {call.rpartition("_")[2] for call in calls} | calls
    assert name in OF_THE_PROGRAM or stem in kinds


def test_the_overview_lists_every_word_once(cli: Cli) -> None:
    shown = re.findall(r"^  ([a-z-]+) {2,}", cli("--help").out, re.MULTILINE)
    assert [name for name in shown if name in WORDS] == list(WORDS)


PAGE = Path(__file__).parents[2] / "docs/internals/cli.md"
COMMIT = {"version", "id", "time", "author", "message", "operations"}


def documented(word: str) -> set[str]:
    """The keys that the page says a word's lines have."""
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    [text] = [keys for words, keys in rows if f"`{word}`" in words.split(" without")[0] and "cli/" not in words]
    named = set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", text)))
    return named | (COMMIT if "a commit's keys" in text else set())


def test_the_page_says_the_keys_of_every_word(cli: Cli) -> None:
    assert [name for name in WORDS if f"`{name}`" not in PAGE.read_text()] == []


@pytest.mark.parametrize(
    "words",
    [
        *("status", "version", "doctor", "ls -r", "show", "schema sales.orders", "count sales.orders", "branch x"),
        *("switch", "log", "history sales.orders", "diff 3 4", "changes --since 3", "edition sales.orders"),
        "stream sales.orders",
        *("partition sales.orders", "drop sales.orders", "create --namespace n", "set sales.orders a=b", "revert"),
        *(
            "export sales.orders o.csv",
            "files sales.orders",
            "explain sales.orders",
            "usage",
            "checkpoint sales.orders",
        ),
        *("evolve sales.orders --add x:int", "rename sales.orders sales.o", "completion zsh", "restore sales.orders 3"),
    ],
)
def test_a_line_of_json_has_the_keys_that_the_page_says(cli: Cli, lake: Lake, words: str) -> None:
    found = cli(*words.split(), "--json").json
    keys = documented(words.split()[0]) - {"objects", "property", "value"}
    assert set(found[0]) - {"on"} == keys


def test_the_version_is_shown_by_an_option_too(cli: Cli) -> None:
    assert cli("--version").out.startswith("lakebed ")


def test_a_misspelt_word_gets_a_suggestion(cli: Cli) -> None:
    answer = cli("brnach")
    assert answer.code == 2
    assert "Did you mean branch?" in answer.err


def test_options_count_before_and_after_the_word(cli: Cli, lake: Lake) -> None:
    assert cli("--json", "branch").json == cli("branch", "--json").json
    assert cli("--on", "nosuch", "branch", "--on", "main").code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_words(cli: Cli, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "_LAKEBED_COMPLETE" in cli("completion", shell).out
    monkeypatch.setenv("_LAKEBED_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "lakebed che" if shell != "fish" else "che")
    monkeypatch.setenv("COMP_CWORD", "1" if shell != "fish" else "che")
    assert "checkpoint" in cli().out
