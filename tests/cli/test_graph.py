"""The graph of commits, for any history of forks, commits and merges."""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.cli.graph import graph_lines
from tests.support.examples import examples

STEPS = st.lists(st.tuples(st.sampled_from(["commit", "fork", "merge"]), st.integers(0, 4), st.integers(0, 4)))


def grown(lake: lakebed.Lake, steps: Sequence[tuple[str, int, int]]) -> lakebed.Catalog:
    """The trunk of a lake after commits, forks and merges of branches by number."""
    lines = [lake.catalog()]
    for number, (step, first, second) in enumerate(steps):
        one, other = lines[first % len(lines)], lines[second % len(lines)]
        if step == "commit":
            one.create_namespace(f"n{number}")
        elif step == "fork":
            lines.append(one.create_branch(f"b{number}"))
        elif one is not other:
            one.merge(other, strategy="ours")
    return lines[0]


@settings(max_examples=examples(25, 200))
@given(STEPS)
def test_every_commit_is_drawn_once_newest_first_in_the_column_of_its_branch(
    steps: list[tuple[str, int, int]],
) -> None:
    with TemporaryDirectory() as folder, lakebed.connect(folder) as lake:
        branches = grown(lake, steps).branches()
        heads = [(branch.ref, branch.log()) for branch in branches]
        lines = graph_lines(heads, {}, None, lambda commit: f"<{commit.line}>", str)
    commits = sorted({one.version: one for _, log in heads for one in log}.values(), key=lambda one: one.version)
    drawn = [line for line in lines if "●" in line]
    assert [f"<{one.line}>" for one in reversed(commits)] == [f"<{line.split('<')[1].split('>')[0]}>" for line in drawn]
    columns = {line.split("<")[1].split(">")[0]: line.index("●") for line in drawn}
    assert len(set(columns.values())) == len(columns), "two branches never share a column"
    for line in drawn:
        assert line.count("●") == 1
        assert line.index("●") == columns[line.split("<")[1].split(">")[0]]
    for line in lines:
        if "●" not in line:
            assert line.count("├") == 1
            assert ("╮" in line) != ("╯" in line)
