"""Audit a wheel that was just built and put it, under its honest name, beside the source archive.

``python packaging/audit.py build/wheel dist``: on Linux auditwheel gives the wheel the tag of the
oldest system that it runs on; abi3audit checks whether a wheel for the stable ABI keeps to it. All
levels that belong to the architecture must be in the wheel.
"""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

LEVELS = {"x86_64": ("baseline", "avx2", "avx512"), "AMD64": ("baseline",)}


def run(*arguments: str | Path) -> None:
    """Run a tool of this environment, whose helpers stand beside Python; a complaint is the end."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    line = [sys.executable, "-m", *map(str, arguments)]
    subprocess.run(line, check=True, env={**os.environ, "PATH": path})


def check_contents(wheel: Path) -> None:
    """Check that cores, types and licence are there, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    for level in LEVELS.get(platform.machine(), ("baseline",)):
        assert any(name.startswith(f"aggro/_core_{level}.") for name in names), level
    for needed in ("aggro/py.typed", "aggro/_core.pyi", "/LICENSE"):
        assert any(name.endswith(needed) for name in names), needed
    strange = [name for name in names if not name.startswith(("aggro/", "aggro-", "aggro.libs/"))]
    assert not strange, strange
    assert not [name for name in names if "sanitized" in name or "tsan" in name]


def main(built: Path, out: Path) -> None:
    """Audit the one wheel in ``built``; write to ``out``."""
    out.mkdir(exist_ok=True)
    (wheel,), (archive,) = built.glob("*.whl"), built.glob("*.tar.gz")
    check_contents(wheel)
    if sys.platform == "linux":
        run("auditwheel", "repair", "-w", out, wheel)
    else:
        shutil.copy(wheel, out)
    shutil.copy(archive, out)
    (wheel,) = out.glob("*.whl")
    if "-abi3-" in wheel.name:
        run("abi3audit", "--strict", wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
