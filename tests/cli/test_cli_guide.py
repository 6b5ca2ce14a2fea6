"""Every command of the guide runs, in the order of the guide."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from cli_helpers import write_csv, write_parquet_folder, write_svmlight, write_vw

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
BLOCKS = re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
COMMANDS = "".join(BLOCKS).replace("\\\n", "").splitlines()
LINES = [line[2:] for line in COMMANDS if line.startswith("$ ")]


def make_data(folder):
    write_csv(folder / "messages.csv")
    write_csv(folder / "new.csv", seed=1, label=False)
    write_svmlight(folder / "data.svm")
    write_svmlight(folder / "data.t", seed=1)
    write_svmlight(folder / "tuesday.svm", seed=2)
    write_parquet_folder(folder / "days")
    write_vw(folder / "log.vw")
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{2 * a - b:.4f}" for a, b in rng.random((300, 2))]
    (folder / "houses.csv").write_text("size,age,price\n" + "\n".join(rows) + "\n")
    good = (folder / "data.svm").read_text()
    (folder / "dirty.svm").write_text("0 1:one\n" + good)
    table = (folder / "messages.csv").read_text().splitlines()
    (folder / "gaps.csv").write_text("\n".join([*table, 'ham,"lunch",']) + "\n")


def test_the_guide_has_commands():
    assert len(LINES) > 12


def test_every_line_runs(tmp_path):
    make_data(tmp_path)
    for line in LINES:
        script = f'set -e -o pipefail; aggro() {{ "{sys.executable}" -m aggro.cli "$@"; }}; {line}'
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (line, done.stderr)
        assert "error" not in done.stderr
