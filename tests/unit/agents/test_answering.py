from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import redis
from pydantic import BaseModel

from memshare_agents.answering import FROM_OTHERS
from memshare_agents.roster import Agent, load_roster
from memshare_agents.tasks import AnswerStage
from memshare_broker.delivery.hops import SCORE, NextMessage
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import AgentPair, AgentTask, Answer, Turn, Usage
from memshare_llm.chat import OLLAMA, Reply, Window
from memshare_memory.belief.bandit import Credit, features
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.store import Store
from tests.support.doors import open_door
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat
from tests.support.word_encoder import WordEncoder

POEM: Agent = load_roster(None)["poem"]


def remember(recall: Recall, *prompts: str, pool: str = "poem") -> list[Memory]:
    memories = [remembered(prompt, answer=f"Verse on {prompt}", pool=pool)[0] for prompt in prompts]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    return memories


def test_the_result_tells_the_answer_and_what_it_was_made_from(recall: Recall, memory: MemoryClient) -> None:
    near, far = remember(recall, "old lamp by the sea", "old shoe")
    task = AgentTask(prompt="new lamp by the sea", kind="limerick")

    outcome = AnswerStage(POEM, ScriptedChat("There was a lamp"), memory, 100).run("journey-1", task)

    answer = outcome.record
    assert isinstance(answer, Answer)
    assert answer.task_id == "journey-1"
    assert (answer.agent, answer.kind) == ("poem", "limerick")
    assert (answer.answer, answer.model) == ("There was a lamp", "scripted")
    assert [shown.id for shown in answer.memories] == [near.id, far.id]
    assert [shown.similarity for shown in answer.memories] == pytest.approx([0.8, 0.0], abs=1e-4)
    assert answer.retriever_version == 0
    assert answer.usage == Usage(prompt_tokens=10, completion_tokens=5)
    assert answer.seconds >= 0


@pytest.mark.parametrize(("kind", "is_shown"), [("limerick", False), ("sonnet", True)])
def test_a_memory_that_misled_tasks_of_another_kind_may_be_shown_with_one_of_its_own(
    settings: Settings,
    tmp_path: Path,
    store: Store,
    encoder: WordEncoder,
    redis_client: redis.Redis,
    kind: str,
    is_shown: bool,
) -> None:
    standing, text = CredibilityRanking(redis_client), "new lamp by the sea"
    recall = Recall(store, encoder, Retriever(redis_client, encoder), standing)
    lamp = remembered("old lamp by the sea", kind="sonnet")[0]
    store.put([(lamp, recall.vectors([lamp])[0])])
    for number in range(6):
        wrong = Credit(lamp.id, features(lamp, text, 0.8, "limerick"), 0.0)
        standing.arms.add("poem", f"{number}", [wrong])

    task, pool = AgentTask(prompt=text, kind=kind), Pool(redis_client, recall, lambda _: recall)
    with open_door(settings.model_copy(update={"data": tmp_path}), pool, redis_client) as memory:
        answer = AnswerStage(POEM, ScriptedChat("A lamp"), memory, 100).run("1", task).record

    assert isinstance(answer, Answer)
    assert bool(answer.memories) == is_shown


def test_memories_that_do_not_fit_are_neither_shown_nor_credited_and_the_answer_says_so(
    recall: Recall, memory: MemoryClient
) -> None:
    near, far = remember(recall, "old lamp by the sea", "old shoe " + "and a shoe " * 600)
    chat = ScriptedChat("There was a lamp")
    stage = AnswerStage(POEM, chat, memory, 20_000, window=lambda: Window(2_000))

    outcome = stage.run("journey-1", AgentTask(prompt="new lamp by the sea", kind="limerick"))

    answer, following = outcome.record, outcome.following
    assert isinstance(answer, Answer)
    assert isinstance(following, NextMessage)
    assert isinstance(following.body, AgentPair)
    assert [one.id for one in answer.memories] == [one.id for one in following.body.shown] == [near.id]
    (note,) = answer.notes
    assert str(far.id) in note
    assert "and a shoe" not in str(chat.conversations)


def test_an_answer_tells_how_the_model_reasoned_and_that_its_server_cut_the_prompt(memory: MemoryClient) -> None:
    class Cutting(ScriptedChat):
        def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
            return super().reply(turns, schema).model_copy(update={"reasoning": "Hm."})

    stage = AnswerStage(POEM, Cutting("A lamp"), memory, 20_000, window=lambda: Window(2_048, OLLAMA))

    answer = stage.run("journey-1", AgentTask(prompt="A lamp, please. " * 1_000)).record

    assert isinstance(answer, Answer)
    assert (answer.answer, answer.reasoning) == ("A lamp", "Hm.")
    (note,) = answer.notes
    assert "counted 10 tokens" in note
    assert OLLAMA in note


def test_an_answer_knows_the_version_of_what_its_agent_was_told(memory: MemoryClient) -> None:
    other = POEM.model_copy(update={"instructions": "Write in prose."})

    def version(agent: Agent, kind: str) -> str:
        answer = AnswerStage(agent, ScriptedChat("A lamp"), memory, 100).run("t", AgentTask(prompt="Lamp", kind=kind))
        assert isinstance(answer.record, Answer)
        return answer.record.instructions_version

    told = version(POEM, "limerick")
    assert told == version(POEM, "limerick")
    assert len({told, version(POEM, "sonnet"), version(other, "limerick")}) == 3


def test_the_model_is_shown_the_memories_best_last_under_the_instructions_of_the_kind(
    recall: Recall, memory: MemoryClient
) -> None:
    remember(recall, "old lamp by the sea", "old shoe")
    chat = ScriptedChat("There was a lamp")

    task = AgentTask(prompt="new lamp by the sea", kind="limerick")
    AnswerStage(POEM, chat, memory, 100).run("journey-1", task)

    assert [(turn.role, turn.content) for turn in chat.conversations[0]] == [
        ("system", f"{POEM.instructions}\n\n{POEM.kinds['limerick'].instructions}\n\n{FROM_OTHERS}"),
        ("user", "old shoe"),
        ("assistant", "Verse on old shoe"),
        ("user", "old lamp by the sea"),
        ("assistant", "Verse on old lamp by the sea"),
        ("user", "new lamp by the sea"),
    ]


def test_what_is_graded_and_remembered_is_the_users_prompt_alone(
    recall: Recall, encoder: WordEncoder, memory: MemoryClient
) -> None:
    (shown,) = remember(recall, "old lamp")
    task = AgentTask(prompt="new lamp", kind="limerick", submitter="ada")

    outcome = AnswerStage(POEM, ScriptedChat("There was a lamp"), memory, 100).run("journey-1", task)

    assert outcome.following is not None
    assert outcome.following.hop is SCORE
    pair = outcome.following.body
    assert isinstance(pair, AgentPair)
    assert (pair.prompt, pair.answer) == ("new lamp", "There was a lamp")
    assert (pair.journey, pair.agent, pair.kind, pair.pool) == ("journey-1", "poem", "limerick", "poem")
    assert (pair.rubric, pair.submitter, pair.model) == ("poem", "ada", "scripted")
    assert [one.id for one in pair.shown] == [shown.id]
    assert pair.embedding.encoder == encoder.name
    assert pair.embedding.unpack() == pytest.approx(encoder.encode(["new lamp"])[0])


@pytest.mark.parametrize("claims", [True, False])
def test_an_answer_is_graded_beside_what_people_brought_in_for_nearly_the_same_prompt(
    recall: Recall, memory: MemoryClient, *, claims: bool
) -> None:
    remember(recall, "red lamp by the sea", "old shoe")
    agent = POEM.model_copy(update={"claims": claims})
    task = AgentTask(prompt="red lamp by the sea now")

    following = AnswerStage(agent, ScriptedChat("A lamp."), memory, 100).run("journey", task).following

    assert following is not None
    assert isinstance(following.body, AgentPair)
    assert following.body.known == (("Verse on red lamp by the sea",) if claims else ())


def known(stage: AnswerStage, memories: int | None = None) -> set[str]:
    """The words beside which an answer is graded."""
    following = stage.run("journey", AgentTask(prompt="red lamp by the sea", memories=memories)).following
    assert isinstance(following, NextMessage)
    assert isinstance(following.body, AgentPair)
    return {one.lower().strip("!.") for one in following.body.known}


def brought_in(recall: Recall, *answers: str) -> list[Memory]:
    prompts = ("red lamp by the sea", "red lamp by the sea", "red lamp by the old sea")
    some = [remembered(prompt, answer=answer)[0] for prompt, answer in zip(prompts, answers, strict=False)]
    recall.store.put(list(zip(some, recall.vectors(some), strict=True)))
    return some


def test_an_answer_is_not_graded_beside_words_that_lost_to_what_else_people_brought_in(
    recall: Recall, memory: MemoryClient
) -> None:
    right, wrong, _ = brought_in(recall, "At nine.", "At ten.", "at ten!")
    stage = AnswerStage(POEM.model_copy(update={"claims": True}), ScriptedChat("A", "B"), memory, 100)

    assert known(stage) == {"at nine", "at ten"}
    memory.decide(ConflictDecision(memories=(right.id, wrong.id), right=right.id))
    assert known(stage) == {"at nine"}


def test_an_answer_is_graded_beside_neither_of_two_that_contradict_each_other_until_somebody_decides(
    recall: Recall, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    nine, ten, _ = brought_in(recall, "At nine.", "At ten.", "at ten!")
    both = nine.id, ten.id
    stage = AnswerStage(POEM.model_copy(update={"claims": True}), ScriptedChat(*"ABCDE"), memory, 100)

    Conflicts(redis_client).judge("poem", *both, "contradict")
    assert (known(stage), known(stage, memories=1)) == (set(), set())
    memory.decide(ConflictDecision(memories=both, contradict=True))
    assert known(stage) == set(), "nobody said which"
    memory.decide(ConflictDecision(memories=both, contradict=False))
    assert known(stage) == {"at nine", "at ten"}, "both are right"
    memory.decide(ConflictDecision(memories=both, right=ten.id))
    assert known(stage) == {"at ten"}


@pytest.mark.parametrize("by_task", [False, True])
def test_an_answer_is_graded_beside_both_that_a_person_found_right_though_one_alone_is_shown(
    recall: Recall, memory: MemoryClient, redis_client: redis.Redis, *, by_task: bool
) -> None:
    nine, ten = brought_in(recall, "At nine.", "At ten.")
    if by_task:
        recall.rewrite([ten := ten.model_copy(update={"task_id": "t"})])
    stage = AnswerStage(POEM.model_copy(update={"claims": True}), ScriptedChat(*"ABCD"), memory, 100)
    Conflicts(redis_client).judge("poem", nine.id, ten.id, "dismissed")
    assert known(stage) in ({"at nine", "at ten"}, set())
    assert known(stage, memories=1) in ({"at nine", "at ten"}, set())

    memory.decide(ConflictDecision(memories=(nine.id, ten.id), undecided=True))
    assert known(stage, memories=1) == ({"at nine"} if by_task else set())


def test_a_task_that_is_not_to_be_remembered_is_handed_on_as_such(memory: MemoryClient) -> None:
    answering = AnswerStage(POEM, ScriptedChat("A", "B"), memory, 100)
    tasks = [AgentTask(prompt="lamp"), AgentTask(prompt="lamp", remember=False)]

    pairs = [outcome.following.body for task in tasks if (outcome := answering.run("journey-1", task)).following]

    assert [pair.remember for pair in pairs if isinstance(pair, AgentPair)] == [True, False]


def test_a_task_that_is_shown_no_memory_is_not_encoded(memory: MemoryClient, encoder: WordEncoder) -> None:
    outcome = AnswerStage(POEM, ScriptedChat("A"), memory, 100).run("journey-1", AgentTask(prompt="lamp", memories=0))

    assert outcome.following is not None
    assert isinstance(outcome.following.body, AgentPair)
    assert outcome.following.body.embedding is None
    assert encoder.encoded == []


def test_the_prompt_is_encoded_once(memory: MemoryClient, encoder: WordEncoder) -> None:
    chat = ScriptedChat("There was a lamp")
    AnswerStage(POEM, chat, memory, 100).run("journey-1", AgentTask(prompt="new lamp"))

    assert encoder.encoded == ["new lamp"]


def test_a_conversation_is_answered_turn_by_turn_and_handed_on_as_one_text(memory: MemoryClient) -> None:
    chat = ScriptedChat("There was a lamp")
    turns = [
        {"role": "user", "content": "A limerick"},
        {"role": "assistant", "content": "About what?"},
        {"role": "user", "content": "A lamp"},
    ]

    outcome = AnswerStage(POEM, chat, memory, 100).run("journey-1", AgentTask.model_validate({"messages": turns}))

    assert [turn.role for turn in chat.conversations[0]] == ["system", "user", "assistant", "user"]
    assert outcome.following is not None
    assert isinstance(outcome.following.body, AgentPair)
    assert outcome.following.body.prompt == "User: A limerick\nAssistant: About what?\nUser: A lamp"


@pytest.mark.parametrize(("asked", "shown"), [(None, 3), (0, 0), (1, 1), (20, 5)])
def test_a_task_says_how_many_memories_it_is_shown_else_the_roster_does(
    recall: Recall, asked: int | None, shown: int, memory: MemoryClient
) -> None:
    remember(recall, "red lamp", "blue lamp", "green lamp", "grey lamp", "black lamp")
    chat = ScriptedChat("There was a lamp")

    outcome = AnswerStage(POEM, chat, memory, 100).run("journey-1", AgentTask(prompt="lamp", memories=asked))

    assert isinstance(outcome.record, Answer)
    assert len(outcome.record.memories) == shown
    assert len(chat.conversations[0]) == 2 + 2 * shown


def test_memories_of_another_pool_are_not_shown(recall: Recall, memory: MemoryClient) -> None:
    remember(recall, "old lamp", pool="plan")

    chat = ScriptedChat("There was")
    outcome = AnswerStage(POEM, chat, memory, 100).run("journey-1", AgentTask(prompt="old lamp"))

    assert isinstance(outcome.record, Answer)
    assert outcome.record.memories == ()
    assert recall.nearest("plan", "old lamp", recall.embed("old lamp").unpack(), 3, "dense").hits


def test_an_unknown_kind_is_refused_before_the_model_is_asked(memory: MemoryClient) -> None:
    chat = ScriptedChat()

    with pytest.raises(BadInput, match="has no kind 'haiku'"):
        AnswerStage(POEM, chat, memory, 100).run("journey-1", AgentTask(prompt="lamp", kind="haiku"))

    assert chat.conversations == []


def test_a_prompt_over_the_limit_is_refused_before_it_is_encoded(memory: MemoryClient, encoder: WordEncoder) -> None:
    chat = ScriptedChat("There was a lamp")
    answering = AnswerStage(POEM, chat, memory, prompt_limit=1_000)

    with pytest.raises(BadInput, match="The prompt has 1,001 characters; at most 1,000 are taken"):
        answering.run("journey-1", AgentTask(prompt="x" * 1_001))
    assert (chat.conversations, encoder.encoded) == ([], [])

    answering.run("journey-1", AgentTask(prompt="x" * 1_000))
    assert len(chat.conversations) == 1


def test_a_withheld_memory_is_not_in_the_prompt_and_is_noted(recall: Recall, memory: MemoryClient) -> None:
    memories = remember(recall, "old lamp by the sea", "old shoe")
    chat = ScriptedChat("There was a lamp")

    outcome = AnswerStage(POEM, chat, memory, 100, withhold=1.0).run(
        "journey-1", AgentTask(prompt="new lamp by the sea")
    )

    answer, pair = outcome.record, outcome.following.body
    assert isinstance(answer, Answer)
    assert isinstance(pair, AgentPair)
    [gone] = [one for one in memories if answer.withheld and one.id == answer.withheld.id]
    [left] = [one for one in memories if one != gone]
    said = [turn.content for turn in chat.conversations[0]]
    assert gone.prompt not in said
    assert gone.answer not in said
    assert left.prompt in said
    assert [one.id for one in answer.memories] == [one.id for one in pair.shown] == [left.id]
    assert (pair.withheld, pair.randomized) == (answer.withheld, True)


def test_the_only_memory_can_be_withheld(recall: Recall, memory: MemoryClient) -> None:
    [only] = remember(recall, "old lamp")

    outcome = AnswerStage(POEM, ScriptedChat("A"), memory, 100, withhold=1.0).run("one", AgentTask(prompt="new lamp"))

    pair = outcome.following.body
    assert (pair.shown, pair.withheld.id, pair.randomized) == ((), only.id, True)


def test_a_task_that_is_not_remembered_is_shown_everything_and_not_compared(
    recall: Recall, memory: MemoryClient
) -> None:
    remember(recall, "old lamp", "old shoe")
    task = AgentTask(prompt="new lamp", remember=False)

    outcome = AnswerStage(POEM, ScriptedChat("A"), memory, 100, withhold=1.0).run("one", task)

    pair = outcome.following.body
    assert (len(pair.shown), pair.withheld, pair.randomized) == (2, None, False)
