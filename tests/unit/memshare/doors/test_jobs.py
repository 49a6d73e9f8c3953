"""Long work that is begun over REST or on the page: real commands, whose end is told."""

from __future__ import annotations

import sys
import time
import zipfile
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import IO, Any

import pytest
from fastapi.testclient import TestClient

from memshare.operate.supervisor import begin_command
from memshare.operations.backend import Backend
from memshare.operations.jobs import JOB
from memshare_memory.encoders.encoder import folder_of
from tests.support.deployment import wait_for
from tests.support.word_encoder import WordEncoder
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import text_of

FROM_PAGE = {"origin": "http://127.0.0.1"}


def ended(here: TestClient) -> list[dict[str, Any]]:
    return [one for one in here.get("/v1/jobs").json() if one["ended"]]


def running(backend: Backend, script: str) -> list[list[str]]:
    """Let jobs be this script of Python; the words of the commands in place of which it runs."""
    words: list[list[str]] = []

    def command(asked: Any, said: IO[str]) -> Popen[str]:
        words.append(list(asked))
        return Popen([sys.executable, "-c", script], stderr=said, text=True)

    backend.command = command
    return words


def test_a_button_makes_a_backup_and_the_page_says_so(
    here: TestClient, backend: Backend, shelf: dict[str, str], tmp_path: Path
) -> None:
    assert len(shelf) == 2
    folder_of(backend.settings, WordEncoder().name).mkdir(parents=True)  # as of one that consolidation wrote
    backend.command = partial(begin_command, backend.settings)

    page = here.post("/jobs", data={"kind": "backup", "back": "/access"}, headers=FROM_PAGE).text
    assert "It has begun" in text_of(page)
    wait_for(lambda: ended(here), 60, "the backup to end")

    [job] = ended(here)
    assert (job["kind"], job["by"], job["fault"]) == ("backup", "anonymous", None)
    [file] = (tmp_path / "backups").iterdir()
    assert zipfile.is_zipfile(file)
    assert here.get("/v1/backups/last").json()["memories"] == 2
    assert "Back up now" in (said := text_of(here.get("/access").text))
    assert "Done now" in said or "Done 1" in said or "s ago" in said


def test_why_a_job_came_to_nothing_is_told_where_it_is_begun(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    words = running(
        backend, "import sys; print('one line', file=sys.stderr); sys.exit('memshare: No worker is there.')"
    )

    begun = here.post("/v1/jobs", json={"kind": "concepts", "pool": "logic"})
    assert (begun.status_code, begun.json()["about"], begun.json()["ended"]) == (202, "logic", None)
    wait_for(lambda: ended(here), 20, "the job to end")

    assert words == [["concepts", "extract", "--pool=logic", "--yes", "--json"]]
    assert ended(here)[0]["fault"] == "No worker is there."
    assert shelf
    page = text_of(here.get("/map?pool=logic").text)
    assert "Name the concepts of 1 older memory No model is set" in page
    assert "The last one came to nothing: No worker is there." in page


def test_one_of_a_kind_is_at_work_at_a_time(here: TestClient, backend: Backend, tmp_path: Path) -> None:
    running(
        backend, f"import pathlib, time\nwhile not pathlib.Path({str(tmp_path / 'end')!r}).exists(): time.sleep(.01)"
    )

    assert here.post("/v1/jobs", json={"kind": "trial"}).status_code == 202
    assert here.post("/v1/jobs", json={"kind": "trial"}).status_code == 409
    assert [one["ended"] for one in here.get("/v1/jobs").json()] == [None]
    assert "At work since" in text_of(here.get("/worth").text)

    assert 0 < backend.redis.ttl(f"{JOB}trial") <= 60  # as long as a server that was killed keeps others waiting
    (tmp_path / "end").touch()
    wait_for(lambda: ended(here), 20, "the job to end")
    assert here.post("/v1/jobs", json={"kind": "trial"}).status_code == 202


def test_what_somebody_types_is_no_option_of_a_command(here: TestClient, backend: Backend, tmp_path: Path) -> None:
    words = running(backend, "")
    rubric = {"kind": "rubric", "name": "recipe", "domain": "--sets=9"}
    assert "MEMSHARE_AGENTS_DIR" in here.post("/v1/jobs", json=rubric).json()["detail"]
    backend.settings = backend.settings.model_copy(update={"agents_dir": tmp_path})

    assert here.post("/v1/jobs", json=rubric).status_code == 202
    wait_for(lambda: ended(here), 20, "the job to end")

    file = f"--out={tmp_path / 'recipe.rubric.toml'}"
    assert words == [["rubric", "draft", file, "--json", "--", "--sets=9"]]
    for wrong in ({"name": "../recipe"}, {"domain": ""}, {"pool": "logic", "kind": "backup"}, {"kind": "purge"}):
        assert here.post("/v1/jobs", json=rubric | wrong).status_code == 422


def test_a_pool_is_checked_again_by_who_sees_it(tokened: Tokened, backend: Backend) -> None:
    words, owner = running(backend, ""), tokened("owner", "admin")

    assert owner.post("/v1/jobs", json={"kind": "recheck", "pool": "poem"}).status_code == 404
    assert owner.post("/v1/jobs", json={"kind": "recheck", "pool": "logic"}).status_code == 202
    wait_for(lambda: ended(owner), 20, "the job to end")
    assert words == [["memories", "recheck", "--pool=logic"]]


@pytest.mark.parametrize("kind", ["backup", "consolidation", "trial", "rubric"])
def test_what_is_about_all_takes_a_token_of_all_pools(tokened: Tokened, backend: Backend, kind: str) -> None:
    running(backend, "")
    form = {"kind": kind, **({"name": "x", "domain": "y"} if kind == "rubric" else {})}

    assert tokened("owner", "admin").post("/v1/jobs", json=form).status_code == 403
    assert tokened("curator", "curate", pools=None).post("/v1/jobs", json=form).status_code == 403
    assert tokened("curator-of-concepts", "curate").get("/v1/jobs").status_code == 403


def test_a_server_without_commands_says_so(here: TestClient) -> None:
    before = time.time()
    assert "begins no jobs" in here.post("/v1/jobs", json={"kind": "backup"}).json()["detail"]
    assert all(one["began"] < before for one in here.get("/v1/jobs").json())
