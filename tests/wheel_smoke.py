"""Builds the wheel, installs it into a clean environment and runs the command from another folder.

A script, not a test module: `make test` runs it last. It needs the package index that pip is configured with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", room / "dist", ROOT, cwd=room)
        wheel = next((room / "dist").glob("*.whl"))
        venv.create(room / "clean", with_pip=True)
        python = room / "clean" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=room)
        command = room / "clean" / "bin" / "verification-pipeline"
        assert run(command, "--version", cwd=room).strip()
        summary = json.loads(run(command, "run", "--out", "out", "--json", cwd=room))
        assert summary["documents"] >= 12, summary
        assert summary["pairs"] == sum(summary[k] for k in ("auto_passed", "checked", "not_checked", "dangling"))
        assert list((room / "out" / "receipts").glob("*.json"))
        counted = run(command, "sql", "SELECT count(*) AS n FROM documents", "--out", "out", "--json", cwd=room)
        assert json.loads(counted)["n"] == summary["documents"]
        again = json.loads(run(command, "run", "--out", "out", "--json", cwd=room))
        assert {**again, "run_id": ""} == {**summary, "run_id": ""}
    print("the wheel installs into a clean environment and verifies its sample from another folder")


if __name__ == "__main__":
    main()
