"""The built graph view is the one of its sources: by digest everywhere, and byte by byte where npm is."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
BUNDLE = Path(__file__).parents[2] / "src" / "meshwright" / "report" / "assets" / "graph_view.js"
LARGEST = 250_000


def test_the_bundle_names_its_sources() -> None:
    """The digest in the first line is that of the sources: otherwise run `make web`."""
    digest = hashlib.sha256()
    own = sorted(path.name for path in (WEB / "src").glob("*.ts"))
    for name in (
        *("build.mjs", "package-lock.json", "package.json", "tsconfig.json"),
        *(f"src/{name}" for name in own),
    ):
        digest.update(name.encode() + b"\0" + (WEB / name).read_bytes() + b"\0")
    first = BUNDLE.read_text(encoding="utf-8").partition("\n")[0]
    assert first == f"/* meshwright graph view; sources {digest.hexdigest()} */"


def test_the_bundle_fits_into_a_page() -> None:
    """It is small, names the licences it contains, and cannot end the element that holds it."""
    text = BUNDLE.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert "</script" not in text.lower()
    assert "<!--" not in text
    assert text.count("Permission is hereby granted") == 4


def test_building_gives_the_bundle(tmp_path: Path) -> None:
    """`npm ci` and the build give exactly the committed bytes, without type errors."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm is not installed: the bundle is checked by its digest only")
    copy = shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    there = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund", "--prefer-offline"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    if there.returncode:
        pytest.skip(f"npm ci failed, perhaps without a network: {there.stderr.strip().splitlines()[-1:]}")
    for words in (["node_modules/.bin/tsc", "--noEmit"], ["build.mjs", str(tmp_path / "built.js")]):
        done = subprocess.run([node, *words], cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "built.js").read_bytes() == BUNDLE.read_bytes()
