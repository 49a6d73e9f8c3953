from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
import redis
from typer.testing import CliRunner, Result

from memshare.cli.learn import retriever
from memshare.cli.learn.retriever import app
from memshare.cli.learn.retriever_status import _held_out, _submitters, chart
from memshare_broker.errors import MemshareError
from memshare_broker.presence import Presence, announce
from memshare_broker.settings import OFFLINE, Settings, load_settings
from memshare_memory.belief.trust import Standing
from memshare_memory.encoders.encoder import BEFORE, ENCODER
from memshare_memory.stores.open_store import open_store
from memshare_memory.stores.store import Layout
from memshare_trainer.consolidation.consolidation_state import Consolidated, Trial, tried
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson import Figure
from memshare_trainer.status import HeldOutAccuracy, PoolStatus
from tests.support.lessons import ENCODER as FORMS
from tests.support.lessons import FormLabeller, lesson, make_worse


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, redis_folder: Path, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder of the test's own, with the session's Redis, in which the encoder of the lessons is in use."""
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    monkeypatch.setenv("MEMSHARE_REDIS_URL", f"unix://{redis_folder}/redis.sock?db=0")
    monkeypatch.setenv("MEMSHARE_MODEL", "offline")
    monkeypatch.setenv("COLUMNS", "100")
    redis_client.set(ENCODER, FORMS)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def refusal(*arguments: str) -> str:
    error = run(*arguments).exception
    assert isinstance(error, MemshareError)
    return str(error)


def teach(client: redis.Redis, numbers: Sequence[int], pool: str = "poem") -> None:
    labeller = FormLabeller()
    learn = LearnStage(client, labeller, kept=2_000, keep_days=1)  # type: ignore[arg-type]
    for number in numbers:
        labeller.inverted = number >= 40
        task = lesson(number, pool)
        learn.run(f"{pool} {task.journey}", task)


def make_pool(encoder: str, settings: Settings | None = None) -> None:
    with closing(open_store(settings or load_settings(), Layout(encoder, 8), "a test")):
        pass


def test_status_without_lessons_says_what_to_do() -> None:
    result = run("status")

    assert result.exit_code == 0
    assert "No pool has had a lesson yet" in result.stdout
    assert "start `memshare up` and submit tasks" in " ".join(result.stdout.split())
    status = json.loads(run("status", "--json").stdout)
    assert (status["encoder"], status["encoder_before"], status["pools"]) == (FORMS, None, {})
    consolidation = status["consolidation"]
    assert (consolidation["waits_for"], consolidation["next_at"], consolidation["running"]) == ("lessons", 100, None)


@pytest.mark.parametrize(("model", "said"), [(OFFLINE, "that needs a model"), ("openai:m", "memories: submit tasks.")])
def test_status_without_lessons_knows_what_is_at_work(redis_client: redis.Redis, model: str, said: str) -> None:
    there = Presence(node="scorer@x", pid=1, incarnation="life", queues=("scorer",), scorer_model=model)
    announce(redis_client, there)

    assert said in " ".join(run("status").stdout.split())


def test_status_for_machines_is_one_document(redis_client: redis.Redis) -> None:
    teach(redis_client, range(55))

    poem = json.loads(run("status", "--json").stdout)["pools"]["poem"]

    assert poem["version"] == poem["versions"][-1]["version"] > 0
    assert set(poem["versions"][0]) == {"version", "lessons", "accuracy_before", "accuracy_after"}
    assert {"learnt", "held_out", "refused", "no_update"} <= set(poem["lessons"])
    assert poem["held_out_accuracy"]["in_use"] > poem["held_out_accuracy"]["untrained"]
    assert poem["labelled_by"] == {"json": 55}
    assert len(poem["updates"]) == 50
    assert poem["updates"][-1]["counted"] == 55


def test_status_for_people_has_a_chart_the_versions_and_why_updates_failed(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_worse(monkeypatch, 40)
    teach(redis_client, range(60))

    shown = run("status").stdout

    assert "Encoder tests/forms" in shown
    assert ", on 6 lessons and 0 outcomes never trained on" in " ".join(shown.split())
    assert "; × refused)" in shown
    assert shown.count("×") > 2
    assert "how often what is shown first helps on the older lessons would fall from" in " ".join(shown.split())
    assert "There is no version before" not in shown
    assert "± is one standard error: of a difference (→), a worth or a mean." in " ".join(shown.split())


def test_the_figure_of_lessons_by_answers_alike_says_what_it_is_of() -> None:
    figure = HeldOutAccuracy(untrained=0.5, in_use=0.7, error=0.1, lessons=3, outcomes=0)
    alike, json_ = (
        _held_out(PoolStatus.model_construct(version=1, held_out_accuracy=figure, labelled_by={way: 30}))
        for way in ("answers alike", "json")
    )

    assert alike == f"{json_} (by answers alike: how often its answer is made alike)"


def test_the_worth_of_a_submitter_stands_with_its_error_and_of_how_many_words_it_is() -> None:
    ann = Standing(worth=0.1, error=0.05, words=3)

    said = _submitters(PoolStatus.model_construct(submitters={"ann": ann}, trusted=("ann",)))

    assert said == "ann +0.10 ± 0.05 of 3 words (trusted)"


def test_the_chart_tells_better_from_worse_and_refused_lessons() -> None:
    assert chart([(0.5, False), (0.9, False), (0.6, True)], 60).plain == "0.500 ▁█× 0.900"
    assert chart([(0.5, False), (0.5, False)], 60).plain == "0.500 ▁▁ 0.500"


def test_a_chart_of_more_lessons_than_fit_shows_the_last_and_those_between() -> None:
    drawn = chart([(0.5 + lesson / 5000, False) for lesson in range(2000)], 16).plain

    assert drawn == "0.500 ▁▂▂▃▃▄▄▄▅▅▆▆▇▇██ 0.900"


def test_status_says_when_the_first_version_may_come(redis_client: redis.Redis) -> None:
    teach(redis_client, range(10))

    shown = run("status").stdout

    assert "There is no version before 30 lessons" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_status_of_several_pools_shows_each_and_details_of_one(redis_client: redis.Redis) -> None:
    teach(redis_client, range(40))
    teach(redis_client, range(3), pool="logic")

    every, one = run("status").stdout, run("status", "--pool", "logic").stdout

    assert every.index("logic · no version yet") < every.index("poem · version")
    assert "accuracy before" not in every
    assert "poem" not in one
    assert json.loads(run("status", "--pool", "logic", "--json").stdout)["pools"].keys() == {"logic"}


def test_status_of_a_known_pool_without_lessons_is_no_error_and_an_unknown_one_is() -> None:
    assert "Pool plan has had no lesson yet" in run("status", "--pool", "plan").stdout
    assert (
        refusal("status", "--pool", "nowhere")
        == "No pool is called 'nowhere'. There are: logic, plan, poem, reasoning."
    )


def test_rollback_goes_to_the_version_before_or_to_the_one_that_is_named(redis_client: redis.Redis) -> None:
    teach(redis_client, range(40))
    newest = json.loads(run("status", "--json").stdout)["pools"]["poem"]["version"]

    back = json.loads(run("rollback", "--pool", "poem", "--json").stdout)
    assert back == {"before": newest, "version": newest - 1, "set_aside": 2, "brought_back": 0}

    said = " ".join(run("rollback", "--pool", "poem", "--to", "0").stdout.split())
    assert said.startswith(
        f"The retriever of pool poem has version 0, the untrained one, in use, before: {newest - 1}."
    )
    assert json.loads(run("status", "--json").stdout)["pools"]["poem"]["version"] == 0


@pytest.mark.parametrize(
    "words", [[], ["--pool", "poem", "--encoder"], ["--encoder", "--to", "3"], ["--to", "3"]], ids=" ".join
)
def test_rollback_takes_a_pool_or_the_encoder(words: list[str]) -> None:
    assert refusal("rollback", *words).startswith("Give --pool, with --to if you like, or --encoder")


def test_rollback_names_the_pools_that_there_are(redis_client: redis.Redis) -> None:
    teach(redis_client, range(2))

    assert "There are: poem." in refusal("rollback", "--pool", "nowhere")
    assert "none has been published yet" in refusal("rollback", "--pool", "poem")


def test_there_is_no_encoder_before_the_first() -> None:
    make_pool(FORMS)

    assert "nothing to go back to" in refusal("rollback", "--encoder")


def test_the_encoder_before_is_not_gone_back_to_under_settings_that_do_not_fit_it(redis_client: redis.Redis) -> None:
    make_pool(FORMS)
    redis_client.set(BEFORE, "tests/words@0123abcd")

    assert "Set MEMSHARE_ENCODER to 'tests/words'" in refusal("rollback", "--encoder")


def test_consolidate_without_a_pool_says_so(redis_client: redis.Redis) -> None:
    redis_client.delete(ENCODER)

    assert "There is no pool at" in refusal("consolidate")


def test_consolidate_says_how_many_lessons_are_missing(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool(FORMS)
    monkeypatch.setenv("MEMSHARE_ENCODER", FORMS)
    teach(redis_client, range(5))

    assert "There are 5 lessons of all pools together" in refusal("consolidate")


def test_what_was_measured_stands_with_how_many_lessons_it_is_of(
    redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    teach(redis_client, range(3))
    figure, about = Figure(before=0.6, after=0.7, error=0.02), {"pools": ("poem",), "lessons": 167, "memories": 9}
    figures = {"first_helps": figure, "held_out_ndcg": figure, "probe_ndcg": figure, "held_out": 7}
    trial = Trial(at=1, seconds=60, encoder=FORMS, accepted=True, **about, **figures)  # type: ignore[arg-type]
    tried(redis_client, lambda: trial)
    of = "167 lessons and right answers"

    assert f"on 7 lessons held out, after {of}" in " ".join(run("status").stdout.split())
    retriever._say_trial(trial, as_json=False)
    retriever._say_done(Consolidated(encoder_before="a", encoder="b", **about, **figures), as_json=False)  # type: ignore[arg-type]
    said = " ".join(capsys.readouterr().out.split())
    assert said.count(f"Trained on {of} of poem, and measured on 7 lessons held out") == 2


def test_the_pool_does_not_move_to_another_encoder_under_workers_that_could_not_follow(
    redis_client: redis.Redis,
) -> None:
    make_pool(FORMS)
    announce(redis_client, Presence(node="one", pid=1, incarnation="a", queues=("poem",)))

    assert "they could not follow" in refusal("consolidate")
    assert redis_client.get(ENCODER) == FORMS


def test_a_pool_is_not_named_where_nothing_is_trained() -> None:
    make_pool(FORMS)

    assert "leave it out" in refusal("consolidate", "--pool", "poem")


def test_whom_a_person_trusts_is_named_until_that_is_taken_back(redis_client: redis.Redis) -> None:
    teach(redis_client, range(10))
    [submitter, *_] = json.loads(run("status", "--json").output)["pools"]["poem"]["submitters"] or ["ada"]

    assert "Nobody is trusted" in run("trust").output
    assert "is trusted in pool poem" in run("trust", submitter, "--pool", "poem").output
    assert json.loads(run("trust", "--json").output)["poem"][submitter]["said"] == "trust"
    assert json.loads(run("status", "--json").output)["pools"]["poem"]["trusted"] == [submitter]
    assert "has to prove" in run("trust", submitter, "--pool", "poem", "--undo").output
    assert "Nobody is trusted" in run("trust").output
    assert "Nobody has said anything" in refusal("trust", submitter, "--pool", "poem", "--undo")
    assert "--pool" in refusal("trust", submitter)
