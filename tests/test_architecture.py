from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOMAIN = sorted((ROOT / "verification_pipeline").rglob("*.py"))
ASSETS = sorted((ROOT / "assets").glob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", DOMAIN, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_domain_knows_no_orchestrator(path):
    if path.relative_to(ROOT) != Path("verification_pipeline/cli/nights.py"):
        assert not imports(path) & {"dagster", "assets"}


def test_the_domain_is_usable_without_the_orchestrator():
    code = (
        "import sys; sys.modules['dagster'] = None\n"
        "import verification_pipeline.stages.closing, verification_pipeline.cli, verification_pipeline.night\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("path", [*DOMAIN, *ASSETS], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is_about(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), f"{path} has no docstring"


@pytest.mark.parametrize("path", ASSETS, ids=lambda p: p.name)
def test_assets_use_no_postponed_annotations(path):
    """The orchestrator reads annotations of assets as objects."""
    assert "from __future__ import annotations" not in path.read_text("utf-8")


def test_no_pattern_repeats_a_group_possessively():
    """Python 3.11 before 3.11.5 matches such patterns wrongly (gh-106052)."""
    possessive = re.compile(r"\)(?:[*+?]|\{+\d+,?\d*\}+)\+(?=[^+=\s])")
    for path in DOMAIN:
        assert not possessive.search(path.read_text("utf-8")), path
