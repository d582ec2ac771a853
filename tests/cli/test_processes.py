"""The command line as a process: exit codes, pipes, Ctrl-C, and a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

import lakebed
from tests.support.commands import forked

Process = Callable[..., "subprocess.Popen[bytes]"]
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07")

ROOT = Path(__file__).parents[2]


def test_a_process_ends_with_the_code_of_its_error(process: Process, lake: lakebed.Lake, folder: Path) -> None:
    done = process("describe", "sales.none", cwd=folder)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (7, b"")
    assert err.startswith(b"error: sales.none: ")


def test_a_reader_that_has_seen_enough_ends_it_silently(process: Process, lake: lakebed.Lake, folder: Path) -> None:
    lake.catalog().create_table("sales.many", [{"id": number, "text": "x" * 50} for number in range(50_000)])
    running = process("export", "sales.many", "-", cwd=folder)
    assert running.stdout is not None
    assert running.stdout.readline() == b'"id","text"\n'
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == b""
    assert running.wait(timeout=60) == 0


def test_a_query_prints_its_rows_and_no_page_about_leaks(process: Process, lake: lakebed.Lake, folder: Path) -> None:
    """What it did: DuckDB listed a hundred of its own objects on the error output when the process ended."""
    pytest.importorskip("duckdb", reason="pip install 'lakebed[duckdb]'")
    running = process("query", "select count(*) as rows from sales.orders", cwd=folder)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (0, b"rows\n3\n", b"")


def test_ctrl_c_ends_with_130_and_leaves_nothing_half_done(process: Process, lake: lakebed.Lake, folder: Path) -> None:
    running = process("load", "sales.new", "-", "--format", "csv", cwd=folder, stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(b"id\n1\n")
    running.stdin.flush()
    loaded = Path(f"/proc/{running.pid}/maps")
    while "libarrow" not in loaded.read_text():  # it has begun, and waits for more rows
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130
    assert running.stderr is not None
    assert running.stderr.read() == b"interrupted\n"
    assert not lake.catalog().table_exists("sales.new")
    assert list(lake.check()) == []
    running.stdin.close()


def test_two_loads_at_once_both_arrive(process: Process, lake: lakebed.Lake, folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text(f"id,note\n{ord(name)},{name}\n")
    running = [process("load", "sales.orders", f"{name}.csv", "--append", cwd=folder) for name in ("a", "b")]
    assert [one.wait(timeout=120) for one in running] == [0, 0]
    assert lake.catalog().table("sales.orders").scan().count() == 5


def on_terminal(folder: Path, *arguments: str, columns: int = 80, typed: bytes = b"", **env: str) -> tuple[int, str]:
    """The exit code, and all that a word shows on a terminal of a width."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PAGER": "cat", **env}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        environment.pop(name, None) if name not in env else None
    running = subprocess.Popen(
        [forked.lakebed(), *arguments],
        cwd=folder,
        env=environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    os.write(master, typed)
    shown = b""
    while True:
        ready, _, _ = select.select([master], [], [], 60)
        assert ready, shown
        try:
            piece = os.read(master, 65_536)
        except OSError:  # the last process that had the terminal has ended
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return running.wait(timeout=60), shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 160])
def test_a_terminal_gets_a_table_that_fits_with_relative_times(lake: lakebed.Lake, folder: Path, columns: int) -> None:
    lake.catalog().set_properties({"a": "b"}, message="a long message, " * 20)
    code, shown = on_terminal(folder, "log", columns=columns)
    plain = ESCAPES.sub("", shown)
    assert code == 0
    assert "default@main #5" in plain
    assert "just now" in plain or "seconds ago" in plain
    assert "…" in plain
    assert plain.splitlines()[1].split() == ["version", "time", "author", "message"], "names of columns are not cut"
    assert max(map(len, plain.splitlines())) <= columns
    assert "\x1b[" in shown


@pytest.mark.parametrize("words", ["ls -r", "diff 3 4", "describe nosuch", "drop sales.orders", "log"])
def test_no_color_is_heeded(lake: lakebed.Lake, folder: Path, words: str) -> None:
    colours = re.compile(r"\x1b\[[0-9;]*3[0-9]m")
    _, shown = on_terminal(folder, *words.split(), NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*m", shown), "bold was printed"
    assert shown.strip()
    if words.startswith("d") and words != "drop sales.orders":
        assert colours.search(on_terminal(folder, *words.split())[1]), "without it there are colours"


@pytest.mark.parametrize(("typed", "code", "rows"), [(b"n\n", 1, 3), (b"y\n", 0, 0)])
def test_a_terminal_is_asked_before_something_is_destroyed(
    lake: lakebed.Lake, folder: Path, typed: bytes, code: int, rows: int
) -> None:
    ended, shown = on_terminal(folder, "reset", "3", typed=typed)
    assert ended == code
    assert "Make default@main what it was at version 3" in shown
    assert lake.catalog().table("sales.orders").scan().count() == rows


def test_a_name_that_would_clear_the_screen_is_shown_as_text(lake: lakebed.Lake, folder: Path) -> None:
    lake.catalog().table("sales.orders").append([{"id": 8, "note": "\x1b[2Jgone"}])
    _, shown = on_terminal(folder, "head", "sales.orders")
    assert "\x1b[2J" not in shown
    assert "\\x1b[2Jgone" in shown


def test_a_property_that_would_clear_the_screen_is_shown_as_text_by_diff_and_log(
    lake: lakebed.Lake, folder: Path
) -> None:
    lake.catalog().table("sales.orders").set_properties({"a": "\x1b[2Jgone"}, message="\x1b[2Jmessage")
    for words in ("diff 4", "log", "log --graph", "show", "set sales.orders", "describe sales.orders"):
        _, shown = on_terminal(folder, *words.split())
        assert "\x1b[2J" not in shown, words


def test_rows_of_many_columns_are_shown_one_below_the_other(lake: lakebed.Lake, folder: Path) -> None:
    _, shown = on_terminal(folder, "inspect", "__files", columns=80)
    plain = ESCAPES.sub("", shown)
    assert re.search(r"^row 1$", plain, re.MULTILINE)
    assert re.search(r"^  table_name +sales\.orders$", plain, re.MULTILINE)
    assert max(map(len, plain.splitlines())) <= 80


def test_a_plan_is_broken_between_words_at_the_edge_of_a_terminal(lake: lakebed.Lake, folder: Path) -> None:
    shown = ESCAPES.sub("", on_terminal(folder, "explain", "sales.orders", "--where", "price = 9", columns=50)[1])
    assert max(map(len, shown.splitlines())) <= 50
    assert {"row", "groups"} <= set(shown.split())


def test_wide_characters_take_two_places(lake: lakebed.Lake, folder: Path) -> None:
    lake.catalog().set_properties({"a": "b"}, message="注文" * 60)
    plain = ESCAPES.sub("", on_terminal(folder, "log")[1])
    [line] = [line.rstrip() for line in plain.splitlines() if "注" in line]
    assert len(line) + line.count("注") + line.count("文") <= 80
    assert line.endswith("…")


def test_times_of_rows_were_relative_on_a_terminal_and_are_themselves(lake: lakebed.Lake, folder: Path) -> None:
    lake.catalog().create_table("t", {"id": "long", "at": "timestamptz"}).append([{"id": 1, "at": NOON}])
    _, shown = on_terminal(folder, "head", "t")
    assert "2026-11-01T12:00:00+00:00" in ESCAPES.sub("", shown)


def test_the_advice_of_a_doctor_is_not_cut(folder: Path) -> None:
    _, shown = on_terminal(folder, "doctor", columns=80)
    plain = ESCAPES.sub("", shown)
    assert "create one: `lakebed init`" in " ".join(plain.split())
    assert max(map(len, plain.splitlines())) <= 80


@pytest.mark.parametrize("words", [["merge", "dev"], ["merge", "dev", "--dry-run"], ["diff", "main", "dev", "--rows"]])
def test_long_lines_were_broken_in_the_middle_of_a_word(lake: lakebed.Lake, folder: Path, words: list[str]) -> None:
    main = lake.catalog()
    text = " ".join(f"word{number:02}" for number in range(6))
    main.create_branch("dev").table("sales.orders").update({"note": f"'{text}'"}, "id = 1")
    main.table("sales.orders").update({"note": "'short'"}, "id = 1")
    shown = ESCAPES.sub("", on_terminal(folder, *words, columns=60)[1])
    assert max(map(len, shown.splitlines())) <= 60
    for word in text.split():
        assert word in shown


def test_the_columns_of_a_load_are_not_broken_within_a_word(lake: lakebed.Lake, folder: Path) -> None:
    names = [f"column_{number}" for number in range(30)]
    (folder / "wide.csv").write_text(f"{','.join(names)}\n{','.join('1' for _ in names)}\n")
    _, shown = on_terminal(folder, "load", "t", "wide.csv", columns=80)
    listed = ESCAPES.sub("", shown).replace("\n  ", " ")
    assert f"t: {', '.join(f'{name} long' for name in names)}\n" in listed


def test_conflicts_are_shown_as_people_write_them(lake: lakebed.Lake, folder: Path) -> None:
    """What it did: each side was a line of JSON with all columns, dates as objects."""
    main = lake.catalog()
    table = main.create_table("t", {"day": "date", "id": "long", "price": "double"}, primary_key=["day", "id"])
    table.append([{"day": NOON.date(), "id": 1, "price": 1.0}])
    main.create_branch("dev").table("t").update({"price": "2"}, "id = 1")
    table.update({"price": "null"}, "id = 1")
    assert on_terminal(folder, "merge", "dev", "--keep-conflicts")[0] == 5
    _, shown = on_terminal(folder, "conflicts")
    lines = [" ".join(line.split()[1:]) for line in ESCAPES.sub("", shown).splitlines()[1:5]]
    assert lines == ["table t: row day = 2026-11-01, id = 1", "price = 1.0", "price = null", "price = 2.0"]


def test_a_graph_of_wide_characters_fits(lake: lakebed.Lake, folder: Path) -> None:
    lake.catalog().set_properties({"a": "b"}, message="注文" * 60)
    plain = ESCAPES.sub("", on_terminal(folder, "log", "--graph", columns=80)[1])
    [line] = [line for line in plain.splitlines() if "注" in line]
    assert len(line) + line.count("注") + line.count("文") <= 80


def test_a_text_of_megabytes_is_shown_at_once(lake: lakebed.Lake, folder: Path) -> None:
    """What it did: it took a second for each megabyte."""
    lake.catalog().create_table("t", {"id": "long", "text": "string"}).append([{"id": 1, "text": "x" * 20_000_000}])
    begun = os.times().children_user
    _, shown = on_terminal(folder, "head", "t", columns=80)
    assert max(map(len, ESCAPES.sub("", shown).splitlines())) <= 80
    assert os.times().children_user - begun < 15


def in_shell(folder: Path, line: str) -> tuple[int, str]:
    """The exit code and the error output of a line of bash, in which `lakebed` is the command line."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = f'lakebed() {{ "{sys.executable}" -m lakebed "$@"; }}; {line}'
    answer = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return answer.returncode, answer.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("lakebed log >&-", 0, ""),
        ("lakebed log 2>&-", 0, ""),
        ("lakebed describe nosuch 2>&-", 7, ""),
        ("lakebed load sales.new - <&-", 9, "Empty CSV file"),
        ("lakebed reset 3 <&-", 9, "--yes"),
        ("lakebed log > /dev/full", 11, "no space is left"),
        ("lakebed export sales.orders - > /dev/full", 11, "no space is left"),
        ("lakebed describe nosuch 2>&1 | true; exit ${PIPESTATUS[0]}", 7, ""),
    ],
)
def test_streams_that_are_closed_or_full_were_called_a_bug(
    lake: lakebed.Lake, folder: Path, line: str, code: int, said: str
) -> None:
    assert Path("/dev/full").is_char_device(), "an export has replaced it"
    ended, err = in_shell(folder, line)
    assert ended == code, err
    assert said in err
    assert "bug" not in err
    assert "Traceback" not in err


INTERRUPTED_EARLY = """
import sys
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from lakebed.__main__ import main
main()
"""


def test_ctrl_c_while_it_is_loaded_shows_no_traceback(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", INTERRUPTED_EARLY]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (130, "")


def test_blame_fits_a_narrow_terminal_with_its_values_and_times(lake: lakebed.Lake, folder: Path) -> None:
    _, shown = on_terminal(folder, "blame", "sales.orders", "1", columns=80)
    plain = ESCAPES.sub("", shown)
    assert "first orders" in plain
    assert "…" not in plain


def test_the_columns_of_rows_keep_their_names_on_a_terminal(lake: lakebed.Lake, folder: Path) -> None:
    _, shown = on_terminal(folder, "changes", "sales.orders", "--since", "3", columns=160)
    assert "_change_type" in shown
