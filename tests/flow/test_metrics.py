"""Metrics of a run with known numbers are exactly those numbers: with threads, with prefork, and after a restart."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memshare_broker.settings import Settings
from memshare_memory.stores.store import Where
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, patient, wait_for
from tests.support.grades import ranges
from tests.support.qdrant_server import emptied

SCORES = {"poem 1": 90, "poem 2": 95, "poem 3": 40, "poem 4": 100, "poem 5": 70, "poem 6": 90} | {
    "logic 1": 100, "logic 2": 85, "logic 3": 10, "logic 4": 90, "logic 5": 55,
}  # fmt: skip
REFUSED, STUMBLED = "logic 6", "poem 2"  # the model refuses the one, and fails at the first call for the other
ACCEPTED = {"poem": 4, "logic": 3}  # at a threshold of 81
SUBJECTS = (
    "a lighthouse in fog", "how bread rises", "taxes of small firms", "the moons of Jupiter", "a goalkeeper's fear",
    "violin strings", "why cats purr", "railway timetables", "a recipe for soup", "melting ice", "the price of tin",
    "an old chess problem", "lost luggage", "a dentist's morning",
)  # fmt: skip
"""So unlike that no two are compared for contradictions."""
PRICES = 'currency = "EUR"\n["openai:grader"]\nprompt = 2.0\ncompletion = 8.0\n'

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Model:
    """The model's script, and its own account of the tokens that it used."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[tuple[str, str, str]] = Counter()
        self._stumbled = False
        self._lock = threading.Lock()

    def __call__(self, body: dict) -> Answer:
        asked = body["messages"][-1]["content"]
        task = next(name for name in (*SCORES, REFUSED) if f"{name}:" in asked)
        if "response_format" in body:
            return self._said(body, task, grade(body, SCORES[task]))
        with self._lock:
            stumbles = task == STUMBLED and not self._stumbled
            self._stumbled |= stumbles
        if stumbles:
            return Answer(status=500, text="out of order")
        answer = f"An answer to {task}: and nothing else"
        return self._said(body, task, answer, refusal="I will not" if task == REFUSED else None)

    def _said(self, body: dict, task: str, text: str, refusal: str | None = None) -> Answer:
        of = f"openai:{body['model']}", task.split()[0]
        with self._lock:
            self.calls[of] += 1
            self.tokens[(*of, "prompt")] += sum(len(turn["content"].split()) for turn in body["messages"])
            self.tokens[(*of, "completion")] += len(text.split())
        return Answer(text=text, refusal=refusal)


def grade(body: dict, score: float) -> str:
    return json.dumps(ranges(body, score / 100))


@pytest.fixture(params=["threads", "prefork"])
def pool(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def metrics_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def deployment(pool: str, model: Model, metrics_port: int, redis_folder: Path, tmp_path: Path) -> Iterator[Deployment]:
    empty(redis_folder)
    (tmp_path / "prices.toml").write_text(PRICES)
    with serving(model) as chat, emptied() as qdrant_url:
        settings = Settings(data=redis_folder, model="openai:scripted", qdrant_url=qdrant_url)
        more = {
            "MEMSHARE_MODEL_SCORER": "openai:grader",
            "MEMSHARE_PRICES": str(tmp_path / "prices.toml"),
            "MEMSHARE_TRIES": "3",
        }
        with deployed(settings, chat, tmp_path, [("memory",)], **more) as running:
            start(running, pool, metrics_port)
            yield running


def start(deployment: Deployment, pool: str, metrics_port: int) -> None:
    options = ("-P", pool, "-c", "2")
    own = {"MEMSHARE_METRICS_PORT": str(metrics_port), "MEMSHARE_HEARTBEAT": str(heartbeat(deployment))}
    deployment.environment |= own
    deployment.start(("poem", "logic"), *options)
    for name in own:
        del deployment.environment[name]
    deployment.start(("scorer",), *options)
    deployment.wait_until_ready()


def heartbeat(deployment: Deployment) -> Path:
    return deployment.logs / "heartbeat"


def read(text: str) -> Samples:
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(one.name, frozenset(one.labels.items())): one.value for one in samples}


def exported(deployment: Deployment) -> Samples:
    """What `memshare metrics --once` prints."""
    done = prepared_python.run(("metrics", "--once"), deployment.environment, 60)
    assert done.returncode == 0, done.stderr
    return read(done.stdout)


def of(samples: Samples, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """The values of a metric, by those of these labels."""
    return {
        tuple(dict(given)[label] for label in labels): value
        for (found, given), value in samples.items()
        if found == name
    }


def test_the_metrics_of_a_run_are_exactly_what_happened_in_it(
    deployment: Deployment, model: Model, pool: str, metrics_port: int
) -> None:
    results = run(deployment, *SCORES, REFUSED)
    page = deployment.client.memories.page(Where()).memories
    memories = Counter((one.pool, one.status) for one in page)
    assert Counter(one.pool for one in page) == ACCEPTED
    wait_for(
        lambda: of(exported(deployment), "memshare_pool_memories", "pool", "status") == memories,
        60,
        "the pools to be counted",
    )
    found = exported(deployment)

    assert of(found, "memshare_up") == {(): 1}
    assert of(found, "memshare_workers", "queue") == {(name,): 1 for name in ("memory", "poem", "logic", "scorer")} | {
        ("trainer",): 0
    }
    lessons = of(found, "memshare_queue_open", "queue").pop(("trainer",))
    assert of(found, "memshare_queue_open", "queue") == {
        ("poem",): 0, ("logic",): 0, ("scorer",): 0, ("memory",): 0, ("trainer",): lessons,
    }  # fmt: skip
    assert lessons > 0
    assert of(found, "memshare_queue_waiting", "queue")["trainer",] == lessons
    oldest = of(found, "memshare_queue_oldest_seconds", "queue")
    assert 0 < oldest.pop(("trainer",)) < 300
    assert set(oldest.values()) == {0}
    assert set(of(found, "memshare_queue_parked", "queue").values()) == {0}

    assert of(found, "memshare_tasks_total", "stage", "outcome") == {
        ("answer", "answered"): 11, ("answer", "dead"): 1,
        ("score", "accepted"): 7, ("score", "rejected"): 4,
        ("settle", "stored"): 7, ("settle", "rejected"): 4,
    }  # fmt: skip
    assert of(found, "memshare_failed_tries_total", "reason") == {("server error",): 1, ("refused",): 1}
    assert of(found, "memshare_dead_letters_total", "reason") == {("refused",): 1}
    assert of(found, "memshare_dead_letters", "reason") == {("refused",): 1}

    assert of(found, "memshare_model_calls_total", "model", "agent") == model.calls
    assert of(found, "memshare_model_tokens_total", "model", "agent", "type") == model.tokens
    money = {
        ("openai:grader", name): (2 * model.tokens["openai:grader", name, "prompt"]
        + 8 * model.tokens["openai:grader", name, "completion"]) / 1_000_000
        for name in ACCEPTED
    } | {("openai:scripted", name): 0 for name in ACCEPTED}  # fmt: skip
    assert of(found, "memshare_model_money_total", "model", "agent") == pytest.approx(money, rel=1e-12)
    assert of(found, "memshare_model_seconds_count", "model") == {("openai:scripted",): 12, ("openai:grader",): 11}
    assert all(value > 0 for value in of(found, "memshare_model_seconds_sum", "model").values())

    assert of(found, "memshare_graded_total", "agent", "accepted") == {
        ("poem", "true"): 4, ("poem", "false"): 2, ("logic", "true"): 3, ("logic", "false"): 2,
    }  # fmt: skip
    assert of(found, "memshare_score_sum", "agent", "kind") == {("poem", ""): 485, ("logic", ""): 340}
    expected = {
        (agent, f"{bound}.0"): sum(score <= bound for task, score in SCORES.items() if task.startswith(agent))
        for agent in ACCEPTED
        for bound in range(10, 101, 10)
    }
    buckets = of(found, "memshare_score_bucket", "agent", "le")
    assert buckets == expected | {("poem", "+Inf"): 6, ("logic", "+Inf"): 5}

    assert of(found, "memshare_recall_seconds_count", "agent") == {("poem",): 6, ("logic",): 5}
    for agent in ACCEPTED:
        cosines = [one["similarity"] for result in results for one in result["memories"] if result["agent"] == agent]
        assert cosines
        assert of(found, "memshare_shown_similarity_count", "agent")[agent,] == len(cosines)
        assert of(found, "memshare_shown_similarity_sum", "agent")[agent,] == pytest.approx(sum(cosines))
    assert {name for name, _ in of(found, "memshare_credibility", "pool", "quantile")} == set(ACCEPTED)

    # Restarted workers go on from there, and tell their own state.
    assert time.time() - heartbeat(deployment).stat().st_mtime < 30
    deployment.stop()
    assert not heartbeat(deployment).exists()
    deployment.processes.clear()
    deployment.start(("memory",))
    start(deployment, pool, metrics_port)
    run(deployment, "poem 1")
    after = exported(deployment)
    assert of(after, "memshare_tasks_total", "stage", "outcome")["answer", "answered"] == 12
    assert of(after, "memshare_score_sum", "agent")["poem",] == 575
    assert of(after, "memshare_model_calls_total", "model", "agent") == model.calls
    own = read(urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10).read().decode())
    assert of(own, "memshare_worker_concurrency") == {(): 2}
    assert of(own, "memshare_worker_running_tasks") == {(): 0}
    assert of(own, "process_cpu_seconds_total")[()] > 0

    # A worker whose port another has taken says so, and ends.
    deployment.environment["MEMSHARE_METRICS_PORT"] = str(metrics_port)
    deployment.start(("logic",))
    assert deployment.processes[("logic",)].wait(patient(60)) == 2
    assert f"MEMSHARE_METRICS_PORT={metrics_port} cannot be listened on" in deployment.log(("logic",))


def run(deployment: Deployment, *tasks: str) -> list[dict]:
    """Submit tasks one after the other, so that each finds the memories of those before; returns the answers."""
    ids = []
    for task in tasks:
        agent = task.split()[0]
        ids.append(deployment.client.submit(agent, f"{task}: {SUBJECTS[len(ids)]}").id)
        deployment.settled(ids[-1], within=60)
    journeys = [deployment.client.ledger.journey(one) for one in ids]
    assert [task for task, journey in zip(tasks, journeys, strict=True) if "dead" in journey] in ([REFUSED], [])
    return [journey["answer"] for journey in journeys if "answer" in journey]
