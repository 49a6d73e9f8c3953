"""Long work that is begun over REST or on the page: real commands, whose end is told."""

from __future__ import annotations

import html
import re
import sys
import time
import zipfile
from contextlib import closing
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import IO, Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient

from memshare.client.errors import Conflict
from memshare.client.rest.calls.concepts import ClusterReply, ConceptsReply, GapReply
from memshare.client.rest.calls.operating import JobReply
from memshare.operate.supervisor import begin_command
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.jobs import JOB, begin
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.door.client import MemoryClient
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


def until(end: Path) -> str:
    """A script of Python that ends once a file is there."""
    return f"import pathlib, time\nwhile not pathlib.Path({str(end)!r}).exists(): time.sleep(.01)"


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


def test_while_a_backup_is_made_the_last_one_is_shown_anew_together_with_it(
    here: TestClient, backend: Backend, tmp_path: Path
) -> None:
    running(backend, until(tmp_path / "end"))
    assert here.post("/v1/jobs", json={"kind": "backup"}).status_code == 202

    page = here.get("/access").text
    (tmp_path / "end").touch()

    [anew] = re.findall(r'hx-target="#([^"]+)"', page)
    section = page[page.index(f'id="{anew}"') :].partition("</section>")[0]
    assert "The last backup" in section
    assert "At work" in section


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
    assert "Ask the pool" in page  # though it has no concepts yet
    assert "Name the concepts of 1 older memory No model is set" in page
    assert "The last one came to nothing: No worker is there." in page


def test_that_the_concepts_of_older_memories_are_named_is_told_where_none_is_left(
    here: TestClient, backend: Backend, shelf: dict[str, str], tmp_path: Path
) -> None:
    assert shelf
    running(backend, until(tmp_path / "end"))
    begun = here.post("/jobs", data={"kind": "concepts", "pool": "logic", "back": "/map?pool=logic"}, headers=FROM_PAGE)
    [anew] = re.findall(r'hx-target="#([^"]+)"', begun.text)
    (tmp_path / "end").touch()
    wait_for(lambda: ended(here), 20, "the job to end")
    with_concepts(backend, cluster(3))

    page = here.get("/map?pool=logic").text

    said = text_of(page[page.index(f'id="{anew}"') :])
    assert said.split("Done")[0].endswith("9 memories are about, by their concepts. Concepts of older memories: ")
    assert "Concepts of older" not in text_of(here.get("/map?pool=poem").text)


def test_one_of_a_kind_is_at_work_at_a_time(here: TestClient, backend: Backend, tmp_path: Path) -> None:
    running(backend, until(tmp_path / "end"))

    assert here.post("/v1/jobs", json={"kind": "trial"}).status_code == 202
    assert here.post("/v1/jobs", json={"kind": "trial"}).status_code == 409
    assert [one["ended"] for one in here.get("/v1/jobs").json()] == [None]
    assert "At work since" in text_of(here.get("/worth").text)

    assert 0 < backend.redis.ttl(f"{JOB}trial") <= 60  # as long as a server that was killed keeps others waiting
    (tmp_path / "end").touch()
    wait_for(lambda: ended(here), 20, "the job to end")
    assert here.post("/v1/jobs", json={"kind": "trial"}).status_code == 202


def test_of_two_who_begin_a_job_as_the_last_one_has_ended_one_does(backend: Backend, tmp_path: Path) -> None:
    end, pool = tmp_path / "end", backend.redis.connection_pool
    words = running(backend, until(end))
    last = JobReply(kind="trial", about="", by="Ada", began=1, ended=2)
    backend.redis.set(f"{JOB}trial", last.model_dump_json())
    begun: list[JobReply] = []
    with closing(Backend(backend.settings)) as others:
        others.command = backend.command

        def read(connection: Any, *given: Any, **options: Any) -> Any:
            said = read_response(connection, *given, **options)
            if not begun and "Ada" in str(said):  # another begins between what is read and what is written
                begun.append(begin(others, Caller("Bo", frozenset({"admin"})), "trial"))
            return said

        read_response = pool.connection_class.read_response
        pool.connection_class = type("MeanwhileConnection", (pool.connection_class,), {"read_response": read})
        pool.disconnect()
        pool.reset()
        with pytest.raises(Conflict):
            begin(backend, Caller("Cy", frozenset({"admin"})), "trial")
        end.touch()
        wait_for(lambda: JobReply.model_validate_json(others.redis.get(f"{JOB}trial") or "").ended, 20, "its end")

    assert ([one.by for one in begun], len(words)) == (["Bo"], 1)


def cluster(number: int, **fields: Any) -> ClusterReply:
    given = {"topics": ("Lamp", "Sea"), "memories": 5, "summary": (), "is_stale": False}
    return ClusterReply(number=number, level=0, parent=None, **given | fields)


def with_concepts(backend: Backend, *clusters: ClusterReply) -> None:
    """Let these be the clusters of a pool that were computed just now."""
    found = ConceptsReply(pool="logic", memories=9, without=0, clusters=clusters)
    backend.concepts["logic"] = (time.monotonic(), found)


def test_a_cluster_is_summed_up_at_its_button_and_shown_anew(
    here: TestClient, backend: Backend, shelf: dict[str, str], tmp_path: Path
) -> None:
    words = running(backend, until(tmp_path / "end"))
    backend.settings = backend.settings.model_copy(update={"model": "openai:writer"})
    said = {"text": "Lamps burn.", "cites": [shelf["logic"]]}
    with_concepts(
        backend, cluster(3), cluster(4), cluster(5, summary=(said,)), cluster(6, summary=(said,), is_stale=True)
    )
    before = here.get("/map?pool=logic").text
    button = {"kind": "summary", "pool": "logic", "clusters": "3", "back": "/map?pool=logic#cluster-3"}

    page = here.post("/jobs", data=button, headers=FROM_PAGE).text

    assert (
        text_of(before).count("1 call or more of the agents' model, openai:writer, each of up to 10,000 tokens.") == 3
    )
    assert [before.count(f">{name}</button>") for name in ("Sum it up", "Sum it up again")] == [2, 1]
    assert words == [["concepts", "summary", "3", "--again", "--pool=logic", "--submitter=anonymous", "--json"]]
    assert page.count("At work") == 1
    assert 'hx-target="#cluster-3"' in page
    (tmp_path / "end").touch()
    wait_for(lambda: ended(here), 20, "the job to end")
    assert (ended(here)[0]["about"], ended(here)[0]["clusters"]) == ("logic", [3])
    assert "logic" not in backend.concepts, "the summary would be missing"


def test_new_questions_are_asked_for_from_the_map_on_several_clusters(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    words = running(backend, "")
    assert shelf
    with_concepts(backend, cluster(3), cluster(4))
    form = {
        "kind": "questions",
        "pool": "logic",
        "clusters": ["3", "4"],
        "topic": "--yes",
        "goal": "",
        "back": "/map?pool=logic",
    }

    before = text_of(here.get("/map?pool=logic").text)
    here.post("/jobs", data=form, headers=FROM_PAGE)
    wait_for(lambda: ended(here), 20, "the job to end")

    assert "New questions on" in before
    paid = ["--pool=logic", "--submitter=anonymous", "--json"]
    assert words == [["concepts", "ask", "--cluster=3", "--cluster=4", "--topic=--yes", *paid]]
    for kind, given in (
        ("questions", {"clusters": []}),
        ("questions", {"clusters": [-1]}),
        ("questions", {"clusters": [1, 2, 3, 4, 5]}),
        ("summary", {"clusters": [1, 2]}),
        ("summary", {"clusters": [1], "topic": "tides"}),
        ("summary", {"clusters": [1], "pool": None}),
    ):
        asked = {"kind": kind, "pool": "logic"} | given
        assert here.post("/v1/jobs", json=asked).status_code == 422, asked


def test_who_runs_one_pool_begins_the_jobs_of_that_pool(
    tokened: Tokened, backend: Backend, shelf: dict[str, str]
) -> None:
    running(backend, "")
    owner = tokened("owner", "admin")
    assert shelf

    for kind in ("questions", "summary"):
        form = {"kind": kind, "clusters": [1]}
        assert owner.post("/v1/jobs", json={**form, "pool": "logic"}).json()["by"] == "owner"
        assert owner.post("/v1/jobs", json={**form, "pool": "poem"}).status_code == 404
    assert {one["kind"] for one in owner.get("/v1/jobs").json()} == {"questions", "summary"}


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


def test_a_file_is_brought_in_and_memories_are_removed_for_good_by_commands(
    here: TestClient, backend: Backend, shelf: dict[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    words: list[list[str]] = []
    script = f"import shutil, sys; 'import' in sys.argv and shutil.copy(sys.argv[-1], {str(kept)!r})"

    def command(asked: Any, said: IO[str]) -> Popen[str]:
        words.append(list(asked))
        return Popen([sys.executable, "-c", script, *asked], stderr=said, text=True)

    backend.command = command
    form = {"kind": "import", "lines": "prompt,answer\né,ö\n", "pool": "logic", "new_pool": "yes", "source": "table"}
    form |= {"back": "/pool/import", "seen": "yes"}

    page = here.post("/jobs", data=form, headers=FROM_PAGE).text
    wait_for(lambda: ended(here), 20, "the job to end")

    how = ["--pool=logic", "--from=table", "--new-pool", "--submitter=anonymous", "--json"]
    assert words[0][:-1] == ["memories", "import", *how]
    assert kept.read_text(encoding="utf-8") == form["lines"].strip()
    assert not Path(words[0][-1]).exists()
    assert "It has begun" in text_of(page)

    gone = [*shelf.values()]
    here.post("/jobs", data={"kind": "purge", "memories": gone, "back": "/trash"}, headers=FROM_PAGE)
    wait_for(lambda: len(words) == 2, 20, "the second command")
    assert words[1] == ["memories", "purge", *gone, "--yes", "--json"]
    assert here.post("/v1/jobs", json={"kind": "purge"}).status_code == 422


def test_a_pool_is_checked_again_by_who_sees_it(tokened: Tokened, backend: Backend) -> None:
    words, owner = running(backend, ""), tokened("owner", "admin")

    assert owner.post("/v1/jobs", json={"kind": "recheck", "pool": "poem"}).status_code == 404
    assert owner.post("/v1/jobs", json={"kind": "recheck", "pool": "logic"}).status_code == 202
    wait_for(lambda: ended(owner), 20, "the job to end")
    assert words == [["memories", "recheck", "--pool=logic"]]


@pytest.mark.parametrize("kind", ["backup", "consolidation", "trial", "rubric", "purge", "import"])
def test_what_is_about_all_takes_a_token_of_all_pools(tokened: Tokened, backend: Backend, kind: str) -> None:
    running(backend, "")
    given: dict[str, dict[str, Any]] = {
        "rubric": {"name": "x", "domain": "y"},
        "purge": {"memories": [str(uuid4())]},
        "import": {"lines": "{}"},
    }
    form = {"kind": kind, **given.get(kind, {})}

    assert tokened("owner", "admin").post("/v1/jobs", json=form).status_code == 403
    assert tokened("curator", "curate", pools=None).post("/v1/jobs", json=form).status_code == 403
    assert tokened("curator-of-concepts", "curate").get("/v1/jobs").status_code == 403


def test_a_server_without_commands_says_so(here: TestClient) -> None:
    before = time.time()
    assert "begins no jobs" in here.post("/v1/jobs", json={"kind": "backup"}).json()["detail"]
    assert all(one["began"] < before for one in here.get("/v1/jobs").json())


def test_concepts_that_wait_in_the_queue_are_not_offered_to_be_paid_for_twice(
    here: TestClient, backend: Backend, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    [one] = memory.judge([UUID(shelf["logic"])])
    backend.client.send(extraction(one.memory))

    page = text_of(here.get("/map?pool=logic").text)

    assert "1 memory waits in the queue to have concepts named" in page
    assert "Name the concepts of" not in page


def test_a_consolidation_cannot_be_begun_while_lessons_are_missing_and_says_how_many(here: TestClient) -> None:
    page = here.get("/worth").text

    assert all(f"<button disabled>{name}</button>" in page for name in ("Try what it would bring", "Consolidate"))
    assert text_of(page).count("lessons to train on, beside some held out; there are 0.") == 2


def test_what_a_gap_says_is_missing_stands_where_it_is_brought_in(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    gap = GapReply(id="thin:Lamp", kind="thin", names=("Lamp",), reason="Little is known of the lamp & its oil.")
    found = ConceptsReply(pool="logic", memories=9, without=0, clusters=(cluster(3),), gaps=(gap,))
    backend.concepts["logic"] = (time.monotonic(), found)
    assert shelf

    [link] = re.findall(r'<a class="button" href="(/pool[^"]*#bring-in)">Bring in', here.get("/map?pool=logic").text)

    said = text_of(here.get(html.unescape(link)).text)
    assert "What is likely to be missing: Little is known of the lamp & its oil." in said
