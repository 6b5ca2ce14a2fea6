"""The progress bar, and how the file of a model says its data are to be read."""

import sys

import pytest

from aggro.cli.console import Console, listed


def test_the_bar_moves_and_is_taken_away(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console(total=100) as console:
        console.advance(30)
        console.advance(5)
        (task,) = console._bar.tasks
        assert (task.completed, task.total) == (35, 100)
        console.expect(200)
        assert console._bar.tasks[0].total == 200
    assert console._bar is None
    console.advance(3)  # there is nothing to move, and no error


@pytest.mark.parametrize(
    "how", [{"quiet": True}, {"bar": False}, {}], ids=["quiet", "no bar", "no terminal"]
)
def test_no_bar_where_none_is_wanted(how, capsys):
    console = Console(total=10, **how)
    assert console._bar is None
    console.line("result")
    console.note("beside it")
    shown = capsys.readouterr()
    quiet = how.get("quiet", False)
    assert (shown.out, shown.err) == (("", "") if quiet else ("result\n", "beside it\n"))


def test_files_are_listed():
    assert listed(["a"]) == "a"
    assert listed(["-", "b", "c"]) == "standard input and 2 more"
