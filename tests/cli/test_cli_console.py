"""The console: lines, notes and the progress bar."""

import sys

import pytest

from aggro.cli.output import Console, listed


def test_the_bar_advances_and_is_removed(monkeypatch):
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
    console.advance(3)  # without a bar nothing happens


@pytest.mark.parametrize(
    "how", [{"quiet": True}, {"bar": False}, {}], ids=["quiet", "no bar", "no terminal"]
)
def test_quiet_consoles_and_files_have_no_bar(how, capsys):
    console = Console(total=10, **how)
    assert console._bar is None
    console.line("result")
    console.note("beside it")
    shown = capsys.readouterr()
    quiet = how.get("quiet", False)
    assert (shown.out, shown.err) == (("", "") if quiet else ("result\n", "beside it\n"))


def test_listed_names_the_first_file():
    assert listed(["a"]) == "a"
    assert listed(["-", "b", "c"]) == "standard input and 2 more"
