import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakebed.errors import Unavailable
from lakebed.spark.java.wrapper import wrapper_home

VECTOR = "jdk.incubator.vector"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of Java that prints its arguments, one to a line."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = tmp_path / "it's a java"
    script.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([f"--add-modules={VECTOR}", "-cp", "a b"], ["-cp", "a b"]),
        (["-cp", "*", "--add-modules", VECTOR, "Main", "", "$x"], ["-cp", "*", "Main", "", "$x"]),
        (["--add-modules", "java.sql", VECTOR], ["--add-modules", "java.sql", VECTOR]),
        (["--add-modules=java.sql", "--add-modules", VECTOR], ["--add-modules=java.sql"]),
    ],
)
def test_one_option_is_dropped_and_the_rest_is_passed_on(java: Path, given: list[str], passed: list[str]) -> None:
    command = [f"{wrapper_home(java)}/bin/java", *given]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[:-1] == passed


def test_many_at_once_make_one(java: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        homes = set(pool.map(wrapper_home, [java] * 100))
    (home,) = homes
    assert [path.name for path in (Path(home) / "bin").iterdir()] == ["java"]


def test_each_java_has_its_own(java: Path, tmp_path: Path) -> None:
    assert wrapper_home(java) == wrapper_home(java) != wrapper_home(tmp_path / "another")


def test_a_cache_that_can_not_be_written_is_unavailable(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(Unavailable, match="XDG_CACHE_HOME"):
        wrapper_home(java)
