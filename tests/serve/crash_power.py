"""A folder whose power is cut: what was not synced is lost, all of it or a part."""

import shutil
import subprocess
from pathlib import Path

from crash_trial import Trial

HERE = Path(__file__).parent
BLOCK = 512  # bytes that a disk writes whole


def compile_shim(folder):
    """Compile the shim that notes what is synced."""
    shim = Path(folder) / "power_loss.so"
    command = [
        "g++",
        "-shared",
        "-fPIC",
        "-O1",
        "-std=c++17",
        "-o",
        str(shim),
        str(HERE / "power_loss.cpp"),
    ]
    subprocess.run(command, check=True)
    return shim


class PowerTrial(Trial):
    """A trial with the power cut: what was not synced is lost, or a part of it."""

    def __init__(self, *args, shadow, **kwargs):
        super().__init__(*args, **kwargs)
        self.shadow = Path(shadow)

    def start(self):
        self.note_all()
        return super().start()

    def note_all(self):
        """What is in the folder now was there when the power came back: it is all safe."""
        for old in self.shadow.iterdir():
            old.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for path in self.folder.iterdir():
            inode = path.stat().st_ino
            shutil.copyfile(path, self.shadow / f"file-{inode}")
            (self.shadow / f"held-{inode}").hardlink_to(path)
            lines.append(f"{inode} {path.name}\n")
        self.safe_names().write_text("".join(lines))

    def safe_names(self):
        return self.shadow / f"folder-{self.folder.stat().st_ino}"

    def kill_once(self):
        super().kill_once()
        self.cut()
        self.check_snapshots()

    def cut(self):
        """Put the folder into a state that a power cut may leave."""
        lines = self.safe_names().read_text().splitlines()
        safe = {name: inode for inode, name in (line.split(" ", 1) for line in lines)}
        live = {path.name: str(path.stat().st_ino) for path in self.folder.iterdir()}
        mixed = self.random.random() < 0.5
        names = {
            name: self.random.choice([safe, live]).get(name) if mixed else safe.get(name)
            for name in safe.keys() | live.keys()
        }
        contents = {
            name: self.content(inode, live, mixed)
            for name, inode in names.items()
            if inode is not None and not name.endswith("-shm")
        }
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)

    def content(self, inode, live, mixed):
        """Return what the disk has of a file: what was synced, with blocks of later writes."""
        noted = self.shadow / f"file-{inode}"
        safe = noted.read_bytes() if noted.exists() else b""
        names = [name for name, number in live.items() if number == inode]
        if not mixed or not names:
            return safe
        later = (self.folder / names[0]).read_bytes()
        length = self.random.choice([len(safe), len(later)])
        blocks = []
        for start in range(0, length, BLOCK):
            source = self.random.choice([safe, later])
            blocks.append(source[start : start + BLOCK].ljust(BLOCK, b"\0"))
        return b"".join(blocks)[:length]
