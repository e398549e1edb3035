"""Compiled kernels are kept where only the user can write, and are not used once they are stale."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import meshwright
from meshwright.jit import announce, cache, compiler
from meshwright.jit.compiler import config

MINE = f"meshwright-{os.getuid()}"
"""The folder of kernels in the folder that all users share."""
choose = cache.base_folder.__wrapped__
"""Chooses a folder, whatever was chosen before in this process."""
PACKAGE = Path(meshwright.__file__).parent
KERNELS = sorted(
    file.relative_to(PACKAGE).as_posix()
    for file in PACKAGE.rglob("*.py")
    if "from meshwright.jit.compiler import" in file.read_text(encoding="utf-8") and file.parent.name != "jit"
)
"""The modules with kernels."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let no setting say where to keep kernels, and put the users' and temporary files in a new folder."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    return tmp_path


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the package to where its files can be edited, and digest that copy."""
    package = tmp_path / "meshwright"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "PACKAGE", package)
    return package


def blocked(place: Path) -> Path:
    """Return a place below which nothing can be made, even by root."""
    place.write_text("a file, no folder", encoding="utf-8")
    return place / "below"


def test_kernels_go_to_the_users_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each module has its own folder in the user's cache, which nobody else can read."""
    base = choose()
    assert base == place / "user" / "meshwright"
    monkeypatch.setattr(cache, "base_folder", lambda: base)
    folders: list[Any] = [
        cache.module_folder.__wrapped__(Path(name).stem, str(PACKAGE / name)) for name in KERNELS[:2]
    ]
    assert [folder.parent for folder in folders] == [base, base]
    assert folders[0] != folders[1]
    assert [folder.stat().st_mode & 0o777 for folder in (base, *folders)] == [0o700] * 3
    assert list(folders[0].iterdir()) == []


def test_the_default_is_in_the_home_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without XDG_CACHE_HOME it is ~/.cache."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(place))
    assert choose() == place / ".cache" / "meshwright"


def test_numba_cache_dir_comes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NUMBA_CACHE_DIR is set, kernels go there and nowhere else."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "chosen"))
    assert choose() == place / "chosen"
    assert not (place / "user").exists()


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_that_cannot_be_written_is_skipped(
    place: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """If the chosen folder cannot be written, kernels go to a folder of ours in the temporary folder."""
    monkeypatch.setenv(variable, str(blocked(place / "blocked")))
    assert choose() == place / "shared" / MINE


def test_nowhere_to_write(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing can be written, kernels are not kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked(place / "blocked")))
    monkeypatch.setattr(tempfile, "tempdir", str(blocked(place / "another")))
    assert choose() is None
    monkeypatch.setattr(cache, "base_folder", lambda: None)
    assert cache.module_folder.__wrapped__("some", __file__) is None


@pytest.mark.parametrize("user", [0, 4711])
def test_folders_of_others_are_not_used(place: Path, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    """Compiled code is run: nobody, root included, takes it from a folder that belongs to somebody else."""
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user if user != real else user + 1)
    base = choose()
    assert base is not None
    assert (base.parent, base.stat().st_mode & 0o777) == (place / "shared", 0o700)
    assert base.name != f"meshwright-{os.getuid()}"


def test_a_folder_that_others_can_replace_is_not_used(place: Path) -> None:
    """A folder below one that everybody can write may be replaced by anybody, unless that one is sticky."""
    above = place / "user"
    above.mkdir()
    above.chmod(0o777)
    assert choose() == place / "shared" / MINE
    above.chmod(0o1777)
    assert choose() == above / "meshwright"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_folders_that_others_can_write_are_not_used(place: Path, mode: int) -> None:
    """A folder of ours that a group or everybody can write is skipped for a private temporary one."""
    folder = place / "user" / "meshwright"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert choose() == place / "shared" / MINE
    folder.chmod(0o755)
    assert choose() == folder


def test_a_modules_folder_that_others_can_write_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds for the folder of one module."""
    base = choose()
    monkeypatch.setattr(cache, "base_folder", lambda: base)
    folder = cache.module_folder.__wrapped__("some", __file__)
    assert folder is not None
    folder.chmod(0o777)
    assert cache.module_folder.__wrapped__("some", __file__) is None


def test_a_change_in_a_called_kernel_makes_its_callers_stale(copied: Path) -> None:
    """Editing a file changes the digest of each kernel module that imports it, at any distance, and no other.

    Which modules import which is found here by Python's own parser.
    """
    closures = {name: parsed_closure(copied, copied / name) for name in KERNELS}
    before = digests(copied)
    assert len(KERNELS) > 20
    assert len(set(before.values())) == len(KERNELS)
    for edited in sorted(set().union(*closures.values())):
        source = edited.read_bytes()
        edited.write_bytes(source + b"\n# edited\n")
        now = digests(copied)
        changed = {name for name in KERNELS if now[name] != before[name]}
        assert changed == {name for name in KERNELS if edited in closures[name]}, edited
        edited.write_bytes(source)


def test_an_unrelated_change_makes_nothing_stale(copied: Path) -> None:
    """Editing what no kernel imports, such as a command or the Python around the kernels, changes nothing."""
    before = digests(copied)
    for name in ("cli/main.py", "greedy/engine.py", "measure/__init__.py", "cli/output.py"):
        with (copied / name).open("a", encoding="utf-8") as file:
            file.write("\n# edited\n")
    assert digests(copied) == before


def test_the_digest_covers_all_that_kernels_call() -> None:
    """What a kernel calls, as the imported modules have it, is in the closure of the kernel's module."""
    calls = 0
    for name in KERNELS:
        module = importlib.import_module("meshwright." + name.removesuffix(".py").replace("/", "."))
        closure = cache.import_closure(PACKAGE / name)
        for value in vars(module).values():
            home = getattr(value, "__module__", None)
            if callable(value) and isinstance(home, str) and home.startswith("meshwright."):
                source = sys.modules[home].__file__
                assert source is not None
                assert Path(source) in closure, (name, value)
                calls += home != module.__name__
    assert calls > 100


def digests(package: Path) -> dict[str, str]:
    """Digest every module with kernels of a copy of the package, as its files are now."""
    cache._read.cache_clear()
    return {name: cache.digest(package / name) for name in KERNELS}


def parsed_closure(package: Path, source: Path) -> set[Path]:
    """Find what a file imports, at any distance, by its syntax tree; not what only type checkers import."""
    found, open_files = {source}, [source]
    while open_files:
        new = parsed_imports(package, open_files.pop()) - found
        found |= new
        open_files += new
    return found


def parsed_imports(package: Path, source: Path) -> set[Path]:
    """Find the files of the package that a file imports itself."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]  # fmt: skip
    found: set[Path] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(name.name, None) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source} has a relative import"
            names = [(str(node.module), name.name) for name in node.names]  # type: ignore[misc]
        else:
            continue
        for module, name in names:
            if module.partition(".")[0] == "meshwright":
                place = package.joinpath(*module.split(".")[1:])
                inside = place / f"{name}.py"
                whole = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
                found.add(inside if inside.is_file() else whole)
    return found


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.slow
def test_the_packages_own_folder_is_left_alone(place: Path) -> None:
    """A package that cannot be written compiles all the same, into the user's cache; a second run loads.

    One of the two kernels makes an array: it is loaded in another way than those without reference counts.
    """
    package = place / "site" / "meshwright"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(package.rglob("*"))
    for folder in (package, *(path for path in before if path.is_dir())):
        folder.chmod(0o500)
    program = (
        "import numpy as np\n"
        "from numba.core import event\n"
        "from meshwright import Interest, Overlay, verify\n"
        "from meshwright.pipeline.plans.cover_kernel import cover\n"
        "pair = Overlay(Interest.from_dict({'a': {'x'}, 'b': {'x'}}), [0], [1], [1])\n"
        "one = np.zeros(1, dtype=np.int32)\n"
        "with event.install_recorder('numba:compile') as recorder:\n"
        "    verify.verify_overlay(pair)\n"
        "    cover(np.arange(2), one, one + 1)\n"
        "print(verify.__file__, len(recorder.buffer) > 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    for compiles in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
        )
        assert done.stdout.split() == [str(package / "verify" / "__init__.py"), str(compiles)]
    assert sorted(package.rglob("*")) == before
    assert [*(place / "user" / "meshwright").glob("meshwright.verify.*/**/*.nbi")]
    for folder in (package, *(path for path in before if path.is_dir())):
        folder.chmod(0o700)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
def test_of_two_processes_one_compiles(place: Path) -> None:
    """Processes that need the same kernels at the same time compile each kernel once."""
    program = (
        "from numba.core import event\n"
        "from meshwright import Interest, Overlay, verify\n"
        "from meshwright.jit.compiler import SharedCache\n"
        "pair = Overlay(Interest.from_dict({'a': {'x'}, 'b': {'x'}}), [0], [1], [1])\n"
        "with event.install_recorder('numba:compile') as recorder: verify.verify_overlay(pair)\n"
        "made = [one.data['dispatcher'] for _, one in recorder.buffer if one.is_start]\n"
        "print([one.py_func.__name__ for one in made if isinstance(one._cache, SharedCache)])"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    answers = [ast.literal_eval(one.communicate()[0]) for one in started]
    assert [one.returncode for one in started] == [0] * 3
    kernels = [name for names in answers for name in names]
    assert kernels
    assert len(kernels) == len({*kernels})


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
def test_nobody_waits_forever(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waited long enough for another one compiles by itself; its callers hear that early."""
    monkeypatch.setattr(compiler, "MOST_SECONDS", 0.1)
    monkeypatch.setattr(config, "CACHE_DIR", str(place / "shared"))
    one, other = compiler.SharedCache(shown), compiler.SharedCache(shown)
    heard: list[str] = []
    assert one._take_turn()
    with announce.announce(heard.append):
        assert not other._take_turn()
    assert len(heard) == 1
    one._end_turn()
    assert other._take_turn()
    assert other._take_turn()  # after a compilation that failed
    other._end_turn()


def shown() -> None:
    """Stand for a kernel."""
