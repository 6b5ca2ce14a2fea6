"""Run the tests of a fault; it is detected if a test fails that passes without it."""

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
LIMIT = 600  # seconds for the tests of one fault, which survives if none fails by then
HANG = 90  # seconds after which a test counts as hanging
TABLE = tomllib.loads((Path(__file__).parent / "tests.toml").read_text())
# Without this, an editable install would take precedence over the folder with the fault.
CUSTOMIZE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
"""
# Print the ids of failed tests, which may contain spaces, on separate lines. Exit at once: Python
# would wait for threads that a fault has left running.
PLUGIN = """import os, sys
outcome = []
def pytest_terminal_summary(terminalreporter):
    for kind in ("failed", "error"):
        for report in terminalreporter.stats.get(kind, []):
            terminalreporter.write_line(f"FAILED_TEST {report.nodeid}")
def pytest_sessionfinish(exitstatus):
    outcome.append(int(exitstatus))
def pytest_unconfigure():
    if outcome:
        sys.stdout.flush()
        os._exit(outcome[0])
"""


@dataclass
class Verdict:
    """Result for a fault: the test that detected it, and the seconds it took."""

    detected: bool
    failing_test: str
    seconds: float


def tests_of(file):
    """Return the test files that should detect a fault in a file, the most likely first.

    Tests whose name contains that of the file come first.
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
    """Return the test of a module's docstring examples, if it has any."""
    if not file.endswith(".py") or ">>> " not in (ROOT / file).read_text():
        return []
    name = ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")
    test = "test_examples_of_a_module_give_the_documented_output"
    return [f"tests/docs/test_examples.py::{test}[{name}]"]


class Sandbox:
    """A copy of the package into which a fault can be injected."""

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
        (self.folder / "mutant_plugin.py").write_text(PLUGIN)

    def run(self, arguments, limit, number=0):
        """Run pytest; return its exit code (None after a timeout) and its output."""
        path = os.pathsep.join([str(self.folder), str(ROOT)])
        more = {"PYTHONPATH": path, "AGGRO_MUTANT": str(number), "PYTHONDONTWRITEBYTECODE": "1"}
        more |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        more |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # not needed and slow to load
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-o", f"faulthandler_timeout={HANG}", "-o", "faulthandler_exit_on_timeout=true"]
        process = subprocess.Popen(
            [*command, "--tb=no", "-p", "mutant_plugin", *arguments],
            cwd=ROOT,
            env={**os.environ, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return process.returncode, output


class Trials:
    """Trials in several sandboxes, and the tests that are known to pass without faults."""

    def __init__(self, jobs, cpp):
        ours = sorted(Path(_cpu.__file__).parent.glob("*.so"))
        self.clean = Sandbox("clean", ours)
        self.sandboxes = queue.Queue()
        for job in range(jobs):
            self.sandboxes.put(Sandbox(f"python-{job}", ours))
        self.cpp = Sandbox("core", cpp_build.libraries()) if cpp else None
        self.reliable, self.lock = {}, threading.Lock()

    def judge(self, mutant, number=0):
        """Try one fault; ``number`` is that of its switch in the C++ build."""
        started = time.monotonic()
        sandbox = self.sandboxes.get()
        try:
            detected, failing_test = self._try(sandbox, mutant, number)
        finally:
            self.sandboxes.put(sandbox)
        return Verdict(detected, failing_test, time.monotonic() - started)

    def _try(self, sandbox, mutant, number):
        files = tests_of(mutant.file)
        where, clean = (self.cpp, self.cpp) if number else (sandbox, self.clean)
        unreliable = []
        with _fault(sandbox, mutant) if not number else _nothing():
            while True:
                skip = [f"--deselect={failing_test}" for failing_test in unreliable]
                code, output = where.run([*files, *skip], LIMIT, number)
                if code in (0, None):
                    return False, "" if code == 0 else f"not within {LIMIT} s"
                failing_test = _failing_test(code, output)
                if not failing_test or self._is_reliable(clean, failing_test):
                    return True, failing_test or _cause(code, output)
                unreliable.append(failing_test)  # also fails without the fault

    def _is_reliable(self, clean, failing_test):
        with self.lock:
            if failing_test not in self.reliable:
                self.reliable[failing_test] = clean.run([failing_test], LIMIT)[0] == 0
            return self.reliable[failing_test]


def _failing_test(code, output):
    """Return the failed test, or the file that could not be imported."""
    found = re.search(r"^FAILED_TEST (.+)$", output, re.MULTILINE)
    return found[1] if found and code in (1, 2) else ""


def _cause(code, output):
    if "Timeout (" in output:
        return "hang"
    return f"crash ({code})" if code < 0 or code > 100 else f"pytest ended with {code}"


class _fault:
    """Context in which the package of a sandbox contains a fault."""

    def __init__(self, sandbox, mutant):
        self.path = sandbox.folder / Path(mutant.file).relative_to("src")
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
