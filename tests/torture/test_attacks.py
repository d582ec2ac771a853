"""Every attack runs, for a moment; `make torture` runs them for minutes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torture.__main__ import main
from torture.shim import compiler

ROOT = Path(__file__).parent.parent.parent


def torture(*arguments):
    """A run in a process of its own: it forks, and loads the shim."""
    words = [sys.executable, "-W", "error", "-m", "torture", *map(str, arguments)]
    return subprocess.run(
        words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=500
    )


def attacks_of(path):
    return {attack["attack"]: attack for attack in json.loads(path.read_text())["attacks"]}


def test_a_moment_of_each_attack_counts_what_it_did(tmp_path):
    path = tmp_path / "result.json"
    names = ["histories", "faults", "clock", "damage", "strangers", "inputs"]
    ran = torture(*names, "--minutes", 0.02, "--seed", 11, "--without-controls", "--json", path, "--folder", tmp_path)
    found = attacks_of(path)
    assert [attack["findings"] for attack in found.values()] == [[]] * len(names)
    assert ran.returncode == 0, ran.stderr
    assert list(found) == names
    assert found["histories"]["counts"]["commits"] > 0
    for name in ("damage", "strangers"):
        assert found[name]["counts"]["damaged files"] > 0
    assert found["inputs"]["counts"]["calls"] > 0
    for name in ("faults", "clock"):
        assert bool(found[name]["skipped"]) is (compiler() is None)


@pytest.mark.long
def test_a_minute_of_attacks_with_controls_and_spark_finds_nothing(tmp_path):
    path = tmp_path / "result.json"
    ran = torture("--minutes", 1.5, "--seed", 12, "--json", path, "--folder", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout


def test_an_unknown_attack_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["torture", "storms"])
    with pytest.raises(SystemExit):
        main()
    assert "no such attack: storms" in capsys.readouterr().err
