"""Build the core once with all faults, each behind a switch that is read at import."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from qa.mutants.mutant import ROOT
from qa.mutants.sample import SPARE

FOLDER = ROOT / "build" / "mutants" / "cpp"
BROKEN = FOLDER / "broken.txt"  # ids of faults that do not compile
SWITCH = """#pragma once
#include <cstdlib>
namespace aggro {
inline const int mutant = [] {
    const char* number = std::getenv("AGGRO_MUTANT");
    return number ? std::atoi(number) : 0;
}();
}
#define AGGRO_MUTANT(number) (::aggro::mutant == (number))
"""
PLACE = re.compile(r"(core/[\w/]+\.(?:hpp|cpp)):(\d+)")


def build(mutants):
    """Compile the core with these faults; return the built ones by number."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    known, numbered = _known_to_break(), _numbered(mutants)
    shutil.copy(ROOT / "CMakeLists.txt", FOLDER)
    _put(FOLDER / "switch.hpp", SWITCH.encode())
    while True:
        lines = _write(numbered)
        errors = _compile()
        if errors is None:
            break
        broken = _broken(errors, lines)
        if not broken:
            raise RuntimeError(f"the core with faults does not compile:\n{errors[-4000:]}")
        print(f"  {len(broken)} faults do not compile and are left out", flush=True)
        BROKEN.write_text("\n".join(sorted(known := known | {numbered[n].id for n in broken})))
        numbered = {n: each for n, each in numbered.items() if n not in broken}
    return _wanted(numbered, mutants)


def _broken(errors, lines):
    """Return the faults on or near the lines in the compiler's errors."""
    named = [(file, int(line)) for file, line in PLACE.findall(errors)]
    for reach in range(4):
        near = {(file, line + step) for file, line in named for step in range(-reach, reach + 1)}
        if found := {number for place in near for number in lines.get(place, ())}:
            return found
    return set()


def _write(numbered):
    """Write the sources with switches; return the faults of each line."""
    lines, by_file = {}, {}
    for number, each in numbered.items():
        by_file.setdefault(each.file, []).append((number, each))
    for path in ROOT.glob("core/**/*.?pp"):
        file = str(path.relative_to(ROOT))
        parts, at, line = [], 0, 1
        source = path.read_bytes()
        for number, each in sorted(by_file.get(file, []), key=lambda pair: pair[1].start):
            text = each.text.replace("@", str(number)).encode()
            parts += [source[at : each.start], text]
            line += source[at : each.start].count(b"\n")
            for touched in range(line, line + text.count(b"\n") + 1):
                lines.setdefault((file, touched), []).append(number)
            line += text.count(b"\n")
            at = each.end
        parts.append(source[at:])
        _put(FOLDER / file, b"".join(parts))
    return lines


def _put(target, contents):
    """Write a file only if its contents change, to avoid recompilation."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_bytes() != contents:
        target.write_bytes(contents)


def _compile():
    """Return the errors of the compiler, or None."""
    flags = f"-w -include {FOLDER / 'switch.hpp'}"
    configure = ["cmake", "-G", "Ninja", "-S", FOLDER, "-B", FOLDER / "make"]
    configure += ["-DCMAKE_BUILD_TYPE=Release"]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    configure += ["-DAGGRO_LEVELS=baseline", f"-DPython_EXECUTABLE={sys.executable}"]
    configure += ["-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DCMAKE_CXX_FLAGS={flags}"]
    for command in (configure, ["cmake", "--build", FOLDER / "make", "-j", "2", "--", "-k", "0"]):
        done = subprocess.run(command, capture_output=True, text=True, env=_environment())
        if done.returncode:
            return done.stdout + done.stderr
    return None


def _environment():
    """Return an environment in which the tools of this Python come first."""
    folder = Path(sys.executable).parent
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def wanted(mutants):
    """Return the faults to try by number, without those known not to compile."""
    return _wanted(_numbered(mutants), mutants)


def _known_to_break():
    return set(BROKEN.read_text().split()) if BROKEN.exists() else set()


def _numbered(mutants):
    known = _known_to_break()
    return {n: each for n, each in enumerate(mutants, start=1) if each.id not in known}


def _wanted(numbered, mutants):
    """Drop spare faults."""
    spare = {file: -(-count // SPARE) for file, count in Counter(m.file for m in mutants).items()}
    kept = {}
    for number, each in numbered.items():
        if spare[each.file] > 0:
            spare[each.file] -= 1
            kept[number] = each
    return kept


def libraries():
    """Return the paths of the compiled modules with faults."""
    return sorted((FOLDER / "make").glob("*.so"))
