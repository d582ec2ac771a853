"""What a shell completes: words, options, names of the lake, files."""

from pathlib import Path

import pytest

import lakebed
from tests.cli.conftest import Cli


@pytest.fixture
def complete(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    """What bash gets for a line whose last word is being typed."""

    def call(line: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_LAKEBED_COMPLETE", "bash_complete")
        answer = cli()
        assert answer.err == ""
        return [one.removeprefix("plain,") for one in answer.lines if one]

    return call


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lakebed bra", ["branch"]),
        ("lakebed head --wh", ["--where"]),
        ("lakebed head s", ["sales.orders"]),
        ("lakebed head x", []),
        ("lakebed head --on dev sal", ["sales.orders"]),
        ("lakebed --at 2 head s", []),
        ("lakebed ls s", ["sales"]),
        ("lakebed drop s", ["sales.orders", "sales.dear", "sales"]),
        ("lakebed switch ", ["main", "dev", "v1", "partner"]),
        ("lakebed switch d", ["dev"]),
        ("lakebed branch -d d", ["dev"]),
        ("lakebed merge --dry-run d", ["dev"]),
        ("lakebed diff main dev s", ["sales.orders"]),
        ("lakebed head sales.orders --on p", ["partner"]),
        ("lakebed tag -d ", ["v1"]),
        ("lakebed undrop ", ["gone"]),
        ("lakebed inspect __tab", ["__tables"]),
        ("lakebed load sales.orders or", ["file,or"]),
        ("lakebed backup ../b", ["dir,../b"]),
        ("lakebed completion b", ["bash"]),
        ("lakebed help he", ["head"]),
        ("lakebed nonsense he", ["head"]),
    ],
)
def test_a_shell_completes_names(complete, lake: lakebed.Lake, line: str, expected: list[str]) -> None:
    """It completed words and options alone; after `lakebed help` it printed the help and a traceback."""
    main = lake.catalog()
    main.create_view("sales.dear", "select * from sales.orders where price > 9")
    main.create_table("gone", {"id": "long"})
    main.drop_table("gone")
    main.create_branch("dev")
    main.create_tag("v1")
    main.create_share("partner", ["sales.orders"])
    assert complete(line) == expected


def test_where_there_is_no_lake_nothing_is_completed_and_nothing_printed(complete, folder: Path) -> None:
    assert complete("lakebed head s") == []
    (folder / "catalog.db").write_bytes(b"no database")
    assert complete("lakebed head s") == []
