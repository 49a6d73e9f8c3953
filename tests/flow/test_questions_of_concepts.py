"""What people do with a pool's concepts, on a real deployment with a scripted model: review, answer, ask, explore."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare.operations.jobs import JOB
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_concepts.flashcards import flashcard_memories
from memshare_concepts.open_questions import OpenQuestions
from memshare_concepts.proposing import CALLS
from memshare_concepts.reviews import CardStore, ReviewLearner
from memshare_concepts.summaries import Summaries
from memshare_llm.limits.usage import UsageLog
from memshare_memory.curate.requests import Forget
from memshare_memory.stores.store import Where
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, empty, wait_for

POOL = "plan"
CARDS = flashcard_memories(POOL, 150)
DAY = 86_400


class Model:
    """Answers by the name of the schema that it is asked for; a test puts replies in."""

    def __init__(self) -> None:
        self.replies: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        wanted = body.get("response_format", {}).get("json_schema", {}).get("name")
        if wanted not in self.replies:
            return Answer()
        asked = json.loads(next(turn["content"] for turn in body["messages"] if turn["role"] == "user"))
        self.asked.append((wanted, asked))
        reply = self.replies[wanted]
        return reply(asked) if callable(reply) else Answer(text=json.dumps(reply))


model = Model()


@pytest.fixture(autouse=True)
def _nothing_said() -> None:
    model.replies.clear()
    model.asked.clear()


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("concepts")
    settings = Settings(data=folder, redis_url=Settings(data=redis_folder).redis, model="openai:scripted")
    empty(redis_folder)
    with (
        serving(model) as chat,
        deployed(
            settings,
            chat,
            folder,
            [("plan", "scorer", "memory")],
            MEMSHARE_REDIS_URL=settings.redis,
        ) as running,
    ):
        running.client.memories.restore(CARDS)
        yield running


def memshare(deployment: Deployment, *words: str, typed: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command as a person does who types these lines."""
    done = prepared_python.run(words, deployment.environment | {"COLUMNS": "200"}, 120, typed)
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def shelf(deployment: Deployment, person: str) -> CardStore:
    return CardStore(connect(deployment.settings.redis), person)


def test_answers_are_graded_by_the_model_and_the_person_has_the_last_word(deployment: Deployment) -> None:
    model.replies["Grading"] = {"reason": "Nearly [b]all[/b] of it.", "grade": "good"}

    done = memshare(
        deployment, "review", "--pool", POOL, "--person", "Ada", "--new", "3", typed="First.\n\nSecond.\n2\n\n\n"
    )

    assert "Good: Nearly [b]all[/b] of it." in done.stdout
    assert "Done for now: 3 reviewed." in done.stdout
    said = [asked["answer"] for _, asked in model.asked]
    assert said == ["First.", "Second."]  # of no answer nobody is asked
    cards = shelf(deployment, "Ada").cards(POOL)
    assert sorted(card.reviews[0].grade for card in cards.values()) == ["again", "good", "hard"]
    used = json.loads(memshare(deployment, "budget", "show", "--json").stdout)
    assert "Ada" in json.dumps(used)


def test_an_answer_that_was_typed_is_graded_after_ctrl_c_and_another_start(deployment: Deployment) -> None:
    model.replies["Grading"] = lambda _: Answer(delay=30)
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare", "review", "--pool", POOL, "--person", "Eve", "--new", "1"],
        cwd=ROOT, env=deployment.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write("What I typed.\n")
    process.stdin.flush()
    wait_for(lambda: model.asked, 60, "the model to be asked")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "What you answered is kept" in errors

    model.replies["Grading"] = {"reason": "Yes.", "grade": "easy"}
    done = memshare(deployment, "review", "--pool", POOL, "--person", "Eve", "--new", "1", typed="\n")

    assert "it was not graded yet" in done.stderr
    assert model.asked[-1][1]["answer"] == "What I typed."
    [card] = shelf(deployment, "Eve").cards(POOL).values()
    assert [review.grade for review in card.reviews] == ["easy"]


def test_three_due_memories_of_a_cluster_are_asked_by_one_question_and_all_are_credited(
    deployment: Deployment,
) -> None:
    person = shelf(deployment, "Bo")
    clusters = ReviewLearner.of(deployment.client.memories, person, POOL, deployment.settings.data).clusters
    number, _ = Counter(clusters.values()).most_common(1)[0]
    three = [one for one, cluster in clusters.items() if cluster == number][:3]
    for days_ago in (40, 38):
        person.review(POOL, three, "good", time.time() - days_ago * DAY)
    model.replies["CombinedQuestion"] = {
        "question": "How do these three belong together?",
        "answer": "Like this.",
        "needs": ["memory_1", "memory_2", "memory_3"],
    }
    model.replies["Grading"] = {"reason": "Right.", "grade": "good"}

    due = json.loads(memshare(deployment, "review", "--pool", POOL, "--person", "Bo", "--due", "--json").stdout)
    stopped = memshare(deployment, "review", "--pool", POOL, "--person", "Bo", "--new", "0", typed="So.\n", code=130)
    done = memshare(deployment, "review", "--pool", POOL, "--person", "Bo", "--new", "0", typed="\n")

    assert "A question that needs 3 memories" in stopped.stdout
    assert due["due"] == []
    assert [{one["id"] for one in group} for group in due["together"]] == [{str(one) for one in three}]
    assert "How do these three belong together?" in done.stdout
    assert "Done for now: 3 reviewed." in done.stdout
    assert {one: len(card.reviews) for one, card in person.cards(POOL).items()} == dict.fromkeys(three, 3)


def test_who_has_used_up_their_cap_grades_themselves_and_gets_no_answer(deployment: Deployment) -> None:
    model.replies["Grading"] = {"reason": "Yes.", "grade": "easy"}
    memshare(deployment, "budget", "set", "--submitter", "Max", "--tokens", "0")

    review = memshare(deployment, "review", "--pool", POOL, "--person", "Max", "--new", "1", typed="So.\n2\n")
    answer = memshare(deployment, "answer", "Why?", "--pool", POOL, "--submitter", "Max", code=1)

    assert "cap of submitter 'Max'" in review.stderr
    assert "cap of submitter 'Max'" in answer.stderr
    assert model.asked == []
    [card] = shelf(deployment, "Max").cards(POOL).values()
    assert [one.grade for one in card.reviews] == ["hard"]


def test_cards_go_with_the_memory_that_is_forgotten(deployment: Deployment) -> None:
    person = shelf(deployment, "Ida")
    person.review(POOL, [CARDS[-1].id, CARDS[-2].id], "good", time.time())

    deployment.client.memories.forget(Forget(ids=(CARDS[-1].id,)))

    assert set(person.cards(POOL)) == {CARDS[-2].id}
    assert person.cards(POOL)[CARDS[-2].id].reviews[0].grade == "good"


def test_without_a_model_people_grade_themselves_and_are_told_why(deployment: Deployment) -> None:
    offline = deployment.environment | {"MEMSHARE_MODEL": "offline"}
    done = subprocess.run(
        [sys.executable, "-m", "memshare", "review", "--pool", POOL, "--person", "Kim", "--new", "1"],
        cwd=ROOT, env=offline, input="So.\n5\n3\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "There is no chat model" in done.stderr
    assert "not '5'" in done.stderr
    [card] = shelf(deployment, "Kim").cards(POOL).values()
    assert [review.grade for review in card.reviews] == ["good"]
    assert model.asked == []


def test_a_question_is_answered_from_memories_alone_and_each_is_cited_with_why(deployment: Deployment) -> None:
    card = CARDS[10]

    def reply(asked: dict[str, Any]) -> Answer:
        [name] = [name for name, one in asked["memories"].items() if one["prompt"] == card.prompt]
        assert name == list(asked["memories"])[-1]  # the most similar
        cites = [{"memory": name, "why": "It is [i]the[/i] same."}]
        value = {"cites": cites, "suffices": True, "answer": "So.", "own_knowledge": "", "questions": []}
        return Answer(text=json.dumps(value))

    model.replies["AnswerFromMemories"] = reply
    words = ("answer", card.prompt or "", "--only-memories", "--pool", POOL)

    shown = memshare(deployment, *words).stdout
    told = json.loads(memshare(deployment, *words, "--json").stdout)

    assert "It is [i]the[/i] same." in shown
    assert [(one["id"], told["answer"]) for one in told["cites"]] == [(str(card.id), "So.")]
    assert told["cites"][0]["similarity"] == pytest.approx(1, abs=0.01)


def test_what_memories_cannot_answer_becomes_a_gap_and_never_a_memory(deployment: Deployment) -> None:
    open_ones = ["How does a tide begin?", "Who measures [b]tides[/b]?"]
    model.replies["AnswerFromMemories"] = {
        "cites": [], "suffices": False, "answer": "", "own_knowledge": "", "questions": open_ones,
    }  # fmt: skip
    before = deployment.client.memories.stats().total

    shown = memshare(deployment, "answer", "When is high tide in Brest?", "--only-memories", "--pool", POOL).stdout

    assert "Nothing near enough" in shown
    assert deployment.client.memories.stats().total == before
    listed = json.loads(memshare(deployment, "concepts", "gaps", "--pool", POOL, "--json", "--limit", "500").stdout)
    asked = [gap for gap in listed if gap["kind"] == "asked"]
    assert sorted(gap["names"][0] for gap in asked) == sorted(open_ones)
    memshare(deployment, "concepts", "gaps", "--pool", POOL, "--dismiss", asked[0]["id"])
    again = json.loads(memshare(deployment, "concepts", "gaps", "--pool", POOL, "--json", "--limit", "500").stdout)
    assert [gap["id"] for gap in again if gap["kind"] == "asked"] == [asked[1]["id"]]


def new_questions(*rounds: list[str]) -> Any:
    """Replies with the questions of one round after the other, for ever the last."""
    left = list(rounds)
    return lambda _: Answer(text=json.dumps({"questions": left.pop(0) if len(left) > 1 else left[0]}))


def test_questions_are_kept_dropped_edited_and_replaced_across_a_stop_and_become_memories(
    deployment: Deployment,
) -> None:
    hostile = "Who pays \x1b]0;owned\x07\x1b[2Jthe ferryman?"
    first = ["Why is [b]gold[/b] yellow?", hostile, "Where do old maps end?"]
    model.replies["NewQuestions"] = new_questions(first, ["How far does an owl hear?"])
    words = ("concepts", "ask", "--pool", POOL, "--submitter", "Ada")

    begun = memshare(deployment, *words, "--cluster", "1", "--count", "3", typed="k\n", code=130)
    assert "goes on" in begun.stderr
    assert first[0] in begun.stdout
    refused = memshare(deployment, *words, "--cluster", "2", code=2)
    assert "--discard" in refused.stderr
    done = memshare(deployment, *words, typed="e\nWho pays the [i]pilot[/i]?\nr\nd\n")

    assert not {"\x1b", "\x07"} & set(begun.stdout + done.stdout)
    assert first[0] not in done.stdout.partition("question")[0]  # it was decided before
    kept = [first[0], "Who pays the [i]pilot[/i]?"]
    assert all(one in done.stdout for one in kept)
    again = [asked for name, asked in model.asked if name == "NewQuestions"][-1]
    assert again["kept"] == kept
    assert first[2] in again["not_again"]
    asked_for = {one.prompt: one for one in deployment.client.memories.every(Where(pool=POOL, submitter="Ada"))}
    assert set(asked_for) == set(kept)
    assert all(one.score == pytest.approx(90) and one.task_id for one in asked_for.values())
    nothing_left = memshare(deployment, *words, code=2)
    assert "--cluster" in nothing_left.stderr


def test_without_a_person_questions_are_listed_first_and_all_kept_with_yes(deployment: Deployment) -> None:
    model.replies["NewQuestions"] = new_questions([CARDS[0].prompt or "", "Which tree grows slowest?", "What is rust?"])
    words = ("concepts", "ask", "--pool", POOL, "--submitter", "Bo", "--json")

    listed = json.loads(memshare(deployment, *words, "--cluster", "3", "--count", "2").stdout)["questions"]
    done = json.loads(memshare(deployment, *words, "--yes").stdout)["questions"]

    assert [one["question"] for one in listed] == ["Which tree grows slowest?", "What is rust?"]
    assert all(len(one["nearest"]) == 3 and one["state"] == "open" for one in listed)
    assert [one["outcome"] for one in done] == ["stored", "stored"]
    stored = {str(one.id) for one in deployment.client.memories.every(Where(pool=POOL, submitter="Bo"))}
    assert {one["memory_id"] for one in done} == stored


def test_hypotheses_are_asked_for_from_two_clusters_that_nothing_connects(deployment: Deployment) -> None:
    model.replies["NewQuestions"] = new_questions(["Would tides bend a photon?"])

    words = (
        "concepts",
        "ask",
        "--pool",
        POOL,
        "--submitter",
        "Cy",
        "--goal",
        "hypotheses",
        "--size",
        "6",
        "--count",
        "1",
        "--json",
    )
    listed = json.loads(memshare(deployment, *words).stdout)["questions"]

    [(_, asked)] = model.asked
    assert asked["goal"] == "hypotheses"
    assert " and ".join(one["cluster"] for one in asked["groups"]) == asked["about"]
    assert [len(one["examples"]) > 1 for one in asked["groups"]] == [True, True]
    assert [one["question"] for one in listed] == ["Would tides bend a photon?"]


def test_what_the_map_has_written_stands_where_the_page_shows_it(deployment: Deployment) -> None:
    questions = ["Which comet comes back last?", "Why is amber warm?"]
    model.replies["NewQuestions"] = new_questions(*[questions[:1]] * CALLS, questions[1:])
    model.replies["SummaryOfField"] = {"sentences": [{"text": "It is so.", "cites": ["memory_1"]}]}
    with closing(Backend(deployment.settings)) as backend:
        environment = deployment.environment | {"COLUMNS": "10000"}
        backend.command = lambda words, said: subprocess.Popen(
            [sys.executable, "-m", "memshare", *words], env=environment, text=True, stderr=said
        )
        app = rest_app(backend)
        app.state.is_same_user = lambda *_: True  # there is no connection that a kernel would know
        here = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))

        def done(**job: Any) -> str | None:
            assert here.post("/v1/jobs", json={"pool": POOL, **job}).status_code == 202
            [last] = wait_for(lambda: [one for one in here.get("/v1/jobs").json() if one["ended"]], 120, "its end")
            connect(deployment.settings.redis).delete(f"{JOB}{last['kind']}")
            return last["fault"]

        def proposed() -> dict[str, str]:
            needs = [one["question"] for one in here.get("/v1/needs").json()["needs"] if one["question"]]
            return {one["question"]: one["id"] for one in needs if "to anonymous" in one["why"]}

        assert done(kind="questions", clusters=[1, 2], topic="comets") is None
        [(question, id_of)] = proposed().items()
        assert question == questions[0]
        assert "*Needs you*" in str(done(kind="questions", clusters=[1]))
        here.post(f"/v1/concepts/{POOL}/question", json={"question": id_of, "do": "drop"})
        assert done(kind="questions", clusters=[1]) is None
        assert list(proposed()) == questions[1:]
        asked = next(one for name, one in model.asked if name == "NewQuestions")
        assert (len(asked["groups"]), asked["topic"]) == (2, "comets")

        before = {one["number"]: one["summary"] for one in here.get(f"/v1/concepts/{POOL}").json()["clusters"]}
        assert done(kind="summary", clusters=[1]) is None
        after = {one["number"]: one["summary"] for one in here.get(f"/v1/concepts/{POOL}").json()["clusters"]}
        assert ([each["text"] for each in after[1]], before[1]) == (["It is so."], [])


def test_gaps_are_explored_within_the_days_calls_and_questions(deployment: Deployment, tmp_path: Path) -> None:
    asked_in_vain = OpenQuestions(connect(deployment.settings.redis), POOL)
    asked_in_vain.drop([one.gap for one in asked_in_vain.all()])
    asked_in_vain.add(["Who invented [b]tides[/b]?"], "High tide", 1.0)
    questions = [f"Why is {thing} so old?" for thing in ("amber", "the moon", "bread", "granite", "a cedar", "soap")]
    left = list(questions)
    model.replies["NewQuestions"] = lambda _: Answer(text=json.dumps({"questions": [left.pop(0)]}))
    words = ("concepts", "explore", "--pool", POOL, "--submitter", "scout", "--yes", "--json")
    refused = memshare(deployment, *words, "--count", "2", code=2)
    assert "--calls" in refused.stderr

    first = json.loads(memshare(deployment, *words, "--count", "2", "--calls", "500").stdout)
    same_day = json.loads(memshare(deployment, *words, "--count", "2", "--calls", "500").stdout)
    no_room = json.loads(memshare(deployment, *words, "--count", "50", "--calls", "17").stdout)
    report = tmp_path / "report.md"
    more = json.loads(memshare(deployment, *words, "--count", "3", "--calls", "500", "--out", str(report)).stdout)
    all_asked = memshare(deployment, *words, "--count", "3", "--calls", "500", "--out", str(report)).stderr
    few_calls = memshare(deployment, *words, "--count", "9", "--calls", "3", "--out", str(report)).stderr

    assert first["asked"][0]["question"] == "Who invented [b]tides[/b]?"
    assert first["asked"][1]["question"] == questions[0]
    usage = UsageLog(connect(deployment.settings.redis))
    assert wait_for(lambda: usage.used([("submitter", "scout")])[0].calls >= 8, 30, "all calls to be counted")
    assert (same_day["asked"], no_room["asked"]) == ([], [])
    assert [one["question"] for one in more["asked"]] == [questions[1]]
    learnt = {str(one.id): one for one in deployment.client.memories.every(Where(pool=POOL, submitter="scout"))}
    assert {one["memory_id"] for run in (first, more) for one in run["asked"]} == set(learnt)
    assert f"## {questions[1]}" in report.read_text()  # the runs after it, which asked nothing, left it
    assert "Up to 0 questions" in all_asked
    assert "Nothing was asked: 3 of 3 questions of today were asked." in all_asked
    assert "Up to 0 questions" in few_calls
    assert re.search(r"Nothing was asked: \d+ of 3 calls of today are used", few_calls)
    assert asked_in_vain.all() == []


def test_money_is_no_limit_for_models_without_a_price(deployment: Deployment) -> None:
    refused = memshare(
        deployment, "concepts", "explore", "--pool", POOL, "--count", "1", "--budget", "2", "--yes", code=2
    )

    assert "MEMSHARE_PRICES" in refused.stderr


def test_a_cluster_is_summed_up_by_one_call_until_a_fifth_of_it_has_changed(deployment: Deployment) -> None:
    pool, cards = "summed", flashcard_memories("summed", 60)
    deployment.client.memories.restore(
        [*cards[:45], *(one.model_copy(update={"status": "hidden"}) for one in cards[45:])]
    )
    hostile = "[b]All[/b] of it \x1b]0;owned\x07\x1b[2Jis here."
    model.replies["SummaryOfField"] = {"sentences": [{"text": hostile, "cites": ["memory_1", "memory_2"]}]}
    words = ("concepts", "summary", "1", "--pool", pool, "--size", "60", "--submitter", "Lu")

    told = json.loads(memshare(deployment, *words, "--json").stdout)
    shown = memshare(deployment, "concepts", "clusters", "1", "--pool", pool, "--size", "60").stdout
    deployment.client.memories.restore([one.model_copy(update={"status": "active"}) for one in cards[45:]])
    stale = memshare(deployment, *words).stdout

    [(_, asked)] = model.asked  # by one call
    active = {one.prompt: one for one in cards[:45]}
    assert {one["prompt"] for one in asked["memories"].values()} <= set(active)  # none that is hidden
    cites = [str(active[asked["memories"][f"memory_{number}"]["prompt"]].id) for number in (1, 2)]
    assert told["sentences"] == [{"text": hostile, "cites": cites}]
    assert (told["members"], told["stale"]) == (45, False)
    assert told["read"] == len(asked["memories"]) < 45
    for text in (shown, stale):
        assert "\x1b" not in text
        assert r"[b]All[/b] of it \x1b]0;owned" in text
        assert f"{cites[0][:8]}, {cites[1][:8]}" in text
        assert f"openai:scripted · {time.strftime('%Y-%m-%d')}" in text
        assert f"{told['read']} of 45 memories read" in text
    assert "stale" not in shown
    assert "stale: 15 of its 45 memories are new or gone." in stale
    redis = connect(deployment.settings.redis)
    assert wait_for(lambda: UsageLog(redis).used([("submitter", "Lu")])[0].calls == 1, 30, "the call to be counted")

    assert json.loads(memshare(deployment, *words, "--json", "--again").stdout)["stale"] is False
    assert len(model.asked) == 2
    model.replies["SummaryOfField"] = {"sentences": [{"text": "So.", "cites": ["memory_999"]}]}
    refused = memshare(deployment, *words, "--again", code=1)
    assert "was asked twice" in refused.stderr
    assert len(Summaries(redis, pool).all()) == 2

    def forget_meanwhile(asked: dict[str, Any]) -> Answer:
        """The first memory that the model reads is forgotten while it does."""
        [read] = [one.id for one in cards if one.prompt == asked["memories"]["memory_1"]["prompt"]]
        deployment.client.memories.forget(Forget(ids=(read,)))
        return Answer(text=json.dumps({"sentences": [{"text": "So.", "cites": ["memory_1"]}]}))

    model.replies["SummaryOfField"] = forget_meanwhile
    broken_off = memshare(deployment, *words, "--again", code=1)
    assert "A memory was forgotten while it was read" in broken_off.stderr
    assert "So." not in [each.text for one in Summaries(redis, pool).all() for each in one.sentences]


@pytest.mark.parametrize(
    "words",
    [
        ("concepts", "summary", "2", "--pool", POOL),
        ("concepts", "ask", "--pool", POOL, "--cluster", "2", "--yes", "--submitter", "Uli"),
        ("concepts", "explore", "--pool", POOL, "--count", "1", "--calls", "9", "--yes"),
        ("rubric", "draft", "Riddles", "--out", "none.rubric.toml"),
    ],
)
def test_without_a_model_nothing_is_made_up_and_nothing_submitted(
    deployment: Deployment, words: tuple[str, ...]
) -> None:
    before = sorted(deployment.client.ledger.journeys("", 1_000))
    offline = deployment.environment | {"MEMSHARE_MODEL": "offline", "COLUMNS": "200"}

    refused = prepared_python.run(words, offline, 60)

    assert refused.returncode == 2, refused.stderr
    assert "needs a chat model, and none is set" in refused.stderr
    assert "MEMSHARE_MODEL=openai:qwen3" in refused.stderr
    assert sorted(deployment.client.ledger.journeys("", 1_000)) == before
    assert model.asked == []


def test_without_a_model_the_nearest_memory_answers_and_no_gap_is_left(deployment: Deployment) -> None:
    offline = deployment.environment | {"MEMSHARE_MODEL": "offline", "COLUMNS": "200"}
    card, redis = CARDS[10], connect(deployment.settings.redis)
    before = OpenQuestions(redis, POOL).all()

    told = prepared_python.run(["answer", card.prompt or "", "--pool", POOL, "--json"], offline, 60)

    said = json.loads(told.stdout)
    assert (said["answer"], said["model"]) == (card.answer, "offline")
    assert [one["id"] for one in said["cites"]] == [str(card.id)]
    assert f"{str(card.id)[:8]} by {card.submitter}" in told.stderr
    assert OpenQuestions(redis, POOL).all() == before
    assert model.asked == []
