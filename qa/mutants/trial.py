"""The tests of one fault: whether one of them fails that passes without it."""

import fnmatch
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import tomllib

from aggro import _cpu
from qa.mutants import cpp_build
from qa.mutants.mutant import ROOT

FOLDER = ROOT / "build" / "mutants"
LIMIT = 600  # seconds for the tests of one fault; who is not caught by then has survived
HANG = 90  # seconds after which a test has no end
TABLE = tomllib.loads((Path(__file__).parent / "tests.toml").read_text())
# An editable install would be found before the folder with the fault.
CUSTOMIZE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
"""
# The names of tests that failed, each on a line of its own: they may hold spaces and dashes. And an
# end as soon as all is said: a thread that a fault has left behind would be waited for.
PLUGIN = """import os, sys
outcome = []
def pytest_terminal_summary(terminalreporter):
    for kind in ("failed", "error"):
        for report in terminalreporter.stats.get(kind, []):
            terminalreporter.write_line(f"WITNESS {report.nodeid}")
def pytest_sessionfinish(exitstatus):
    outcome.append(int(exitstatus))
def pytest_unconfigure():
    if outcome:
        sys.stdout.flush()
        os._exit(outcome[0])
"""


@dataclass
class Verdict:
    """What came of a fault: noticed by which test, after how many seconds."""

    noticed: bool
    witness: str
    seconds: float


def tests_of(file):
    """The test files that should notice a fault in a file, the most likely first.

    Within the row of the table these are the ones that share the file's name.
    """
    for pattern, tests in TABLE.items():
        if fnmatch.fnmatch(file, pattern):
            found = dict.fromkeys(path for test in tests for path in sorted(ROOT.glob(test)))
            stem = Path(file).stem.strip("_")
            found = sorted(found, key=lambda path: stem not in path.stem)
            if files := [str(p.relative_to(ROOT)) for p in found if p.name.startswith("test_")]:
                return _examples_of(file) + files
            break
    raise LookupError(f"qa/mutants/tests.toml names no tests for {file}")


def _examples_of(file):
    """The test of the examples in a module's own docstrings, if there are some."""
    if not file.endswith(".py") or ">>> " not in (ROOT / file).read_text():
        return []
    name = ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")
    test = "test_the_examples_of_a_module_come_out_as_written"
    return [f"tests/docs/test_examples.py::{test}[{name}]"]


class Place:
    """A copy of the package that may hold a fault."""

    def __init__(self, name, compiled):
        self.folder = FOLDER / name
        shutil.rmtree(self.folder, ignore_errors=True)
        package = self.folder / "aggro"
        shutil.copytree(
            ROOT / "src" / "aggro", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
        for library in compiled:
            (package / library.name).symlink_to(library)
        (self.folder / "sitecustomize.py").write_text(CUSTOMIZE)
        (self.folder / "mutant_witness.py").write_text(PLUGIN)

    def run(self, arguments, limit, number=0):
        """Run pytest; return its exit code (None if time was up) and what it said."""
        path = os.pathsep.join([str(self.folder), str(ROOT)])
        more = {"PYTHONPATH": path, "AGGRO_MUTANT": str(number), "PYTHONDONTWRITEBYTECODE": "1"}
        more |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        more |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and some load for long
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-o", f"faulthandler_timeout={HANG}", "-o", "faulthandler_exit_on_timeout=true"]
        process = subprocess.Popen(
            [*command, "--tb=no", "-p", "mutant_witness", *arguments],
            cwd=ROOT,
            env={**os.environ, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return process.returncode, said


class Court:
    """Several places, each with a worker, and the witnesses that were found reliable."""

    def __init__(self, jobs, cpp):
        ours = sorted(Path(_cpu.__file__).parent.glob("*.so"))
        self.clean = Place("clean", ours)
        self.places = queue.Queue()
        for job in range(jobs):
            self.places.put(Place(f"python-{job}", ours))
        self.cpp = Place("core", cpp_build.libraries()) if cpp else None
        self.reliable, self.lock = {}, threading.Lock()

    def judge(self, mutant, number=0):
        """Try one fault; ``number`` is that of its switch, if it has one."""
        started = time.monotonic()
        place = self.places.get()
        try:
            noticed, witness = self._try(place, mutant, number)
        finally:
            self.places.put(place)
        return Verdict(noticed, witness, time.monotonic() - started)

    def _try(self, place, mutant, number):
        files = tests_of(mutant.file)
        where, clean = (self.cpp, self.cpp) if number else (place, self.clean)
        excused = []
        with _fault(place, mutant) if not number else _nothing():
            while True:
                skip = [f"--deselect={witness}" for witness in excused]
                code, said = where.run([*files, *skip], LIMIT, number)
                if code in (0, None):
                    return False, "" if code == 0 else f"not within {LIMIT} s"
                witness = _witness(code, said)
                if not witness or self._is_reliable(clean, witness):
                    return True, witness or _cause(code, said)
                excused.append(witness)  # it fails without the fault, too

    def _is_reliable(self, clean, witness):
        with self.lock:
            if witness not in self.reliable:
                self.reliable[witness] = clean.run([witness], LIMIT)[0] == 0
            return self.reliable[witness]


def _witness(code, said):
    """The test that failed, or the file that could not even be imported."""
    found = re.search(r"^WITNESS (.+)$", said, re.MULTILINE)
    return found[1] if found and code in (1, 2) else ""


def _cause(code, said):
    if "Timeout (" in said:
        return "no end"
    return f"crash ({code})" if code < 0 or code > 100 else f"pytest ended with {code}"


class _fault:
    """The package of a place with a fault in one module, for a while."""

    def __init__(self, place, mutant):
        self.path = place.folder / Path(mutant.file).relative_to("src")
        self.source = self.path.read_bytes()
        self.spoiled = (
            self.source[: mutant.start] + mutant.text.encode() + self.source[mutant.end :]
        )

    def __enter__(self):
        self.path.write_bytes(self.spoiled)

    def __exit__(self, *_):
        self.path.write_bytes(self.source)


class _nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass
