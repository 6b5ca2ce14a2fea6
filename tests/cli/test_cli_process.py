"""The command as a process: pipes, signals, imports, terminals."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import aggro, write_csv, write_svmlight, write_vw

from aggro.cli.model import load_model

HEAVY = ("sklearn", "matplotlib", "pandas", "polars", "pyarrow", "safetensors", "rich")
LIST_MODULES = """
import sys
from aggro.cli import main
code = main(sys.argv[1:])
print(*sorted({name.split(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""


pytestmark = pytest.mark.usefixtures("inside")


def modules(*words):
    done = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_no_heavy_imports(inside):
    write_svmlight(inside / "data.svm")
    assert not modules("--version") & {*HEAVY, "scipy", "numpy"}
    assert not modules("train", "data.svm", "-o", "m.aggro") & set(HEAVY)
    assert not modules("predict", "m.aggro", "data.svm") & set(HEAVY)
    assert not modules("info", "m.aggro") & {*HEAVY, "scipy"}
    assert not modules("algorithms") & {*HEAVY, "scipy"}


def test_predict_reads_and_writes_pipes(inside):
    text = write_vw(inside / "data.vw").read_text()
    done = aggro("train", "-", "--format", "vw", "-o", "m.aggro", stdin=text)
    assert done.returncode == 0, done.stderr
    done = aggro("predict", "m.aggro", "-", "--format", "vw", stdin=text)
    assert done.stderr == ""
    assert done.stdout.split() == [line.split()[0] for line in text.splitlines()]
    text = write_csv(inside / "t.csv").read_text()
    done = aggro(
        "train", "-", "--format", "csv", "--label", "kind", "--text", "body", "-o", "t", stdin=text
    )
    assert done.returncode == 0, done.stderr


def test_standard_input_can_be_read_once(inside):
    text = write_svmlight(inside / "data.svm").read_text()
    done = aggro("train", "-", "-o", "m", "--passes", "2", stdin=text)
    assert done.returncode == 1
    assert "once only" in done.stderr


def test_a_closed_pipe_is_no_error(inside):
    write_svmlight(inside / "data.svm", n=20000)
    assert aggro("train", "data.svm", "-o", "m.aggro", "--quiet").returncode == 0
    line = f"{sys.executable} -m aggro.cli predict m.aggro data.svm --scores | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "label\t0\t1\t2\n"
    assert done.stderr == ""


def test_an_interrupt_saves_and_prints_the_command_to_continue(inside):
    lines = write_svmlight(inside / "data.svm", n=4000).read_text().splitlines(keepends=True)
    os.mkfifo("pipe")
    command = [sys.executable, "-m", "aggro.cli", "train", "pipe", "-o", "part.aggro"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with contextlib.suppress(BrokenPipeError), Path("pipe").open("w") as pipe:
        pipe.write("".join(lines[:2000]) * 40)  # more than one block
        pipe.flush()
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        pipe.write("".join(lines) * 40)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "Interrupted; the model is saved. Continue with:\n  aggro train pipe --resume" in err
    learned = load_model("part.aggro")[0].learner.examples
    assert f"--skip {learned} " in err
    Path("all.svm").write_text("".join(lines[:2000]) * 40 + "".join(lines) * 40)
    go_on = f"train all.svm --resume part.aggro -o part.aggro --skip {learned} --quiet"
    assert aggro(*go_on.split()).returncode == 0
    assert aggro("train", "all.svm", "-o", "whole.aggro", "--quiet").returncode == 0
    one = load_model("part.aggro")[0].learner.state()
    two = load_model("whole.aggro")[0].learner.state()
    assert all(one[name].tobytes() == two[name].tobytes() for name in two)


def test_a_terminal_gets_a_progress_bar(inside):
    pytest.importorskip("rich")
    pty = pytest.importorskip("pty")
    write_svmlight(inside / "data.svm", n=30000)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "aggro.cli", "train", "data.svm", "-o", "m.aggro"]
    child = subprocess.Popen(command, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert child.wait(timeout=60) == 0
    assert b"examples, " in shown
    assert b"\x1b[" in shown
