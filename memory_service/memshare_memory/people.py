"""Where Redis keeps what people learn and ask of pools, what they decided on concepts, and what they called wrong.

Here is how it goes with the memories and with the people. Light to import.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import redis

from memshare_broker.errors import WrongAgain
from memshare_broker.wire.forms import Label
from memshare_memory.memory import CalledWrong, Memory, said, saying, sayings
from memshare_memory.stores.bm25 import tokens
from memshare_memory.stores.store import Store, Where, every

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PEOPLE = "memshare:review:people"  # set: everybody who has cards, or decides on questions
CARDS = "memshare:review:cards:"  # of a person, a hash: memory → what they said of it and when
UNGRADED = "memshare:review:ungraded:"
"""Of a person, a hash: the first memory that a question needs → JSON of all of them, and what the person answered."""

ASKING = "memshare:concepts:asking:"
"""Of a person, a hash: pool → JSON of the new questions on which they have not decided yet."""

SUMMARIES = "memshare:concepts:summaries:"
"""Of a pool, a hash: digest of a cluster → JSON of its summary: what was `read` for it, and all `members` then."""
SUMMARIZED = "memshare:concepts:summarized"  # set: the pools that have summaries

QUESTION_CONCEPTS = "memshare:concepts:question:"
"""Of a pool and a question's digest: the concepts that a model named for it, with an end."""

RECALLED = "memshare:recalled:"  # key of what was recalled at a door: who asked, the task, and the memories shown

UUID_TEXT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def drop_cards(client: redis.Redis, memories: Collection[UUID]) -> None:
    """Remove the cards of memories that are no more, whoever has them, and the questions that needed one of them."""
    names = {str(memory) for memory in memories}
    for person in map(str, client.smembers(PEOPLE)) if names else ():
        client.hdel(CARDS + person, *names)
        _drop_that_name(client, UNGRADED + person, names)


def drop_questions(client: redis.Redis, memories: Collection[UUID]) -> None:
    """Remove the new questions on which people decide, where one of these memories stands behind or beside them.

    And the concepts of all questions: names among them may be those of a memory that is no more.
    """
    names = {str(memory) for memory in memories}
    for person in map(str, client.smembers(PEOPLE)) if names else ():
        _drop_that_name(client, ASKING + person, names)
    for key in client.scan_iter(f"{QUESTION_CONCEPTS}*", count=1_000):
        client.delete(key)


def drop_summaries(client: redis.Redis, memories: Collection[UUID], part: Literal["read", "members"]) -> None:
    """Remove the summaries that were written from one of these memories; with "members", of a cluster that had one."""
    names = {str(memory) for memory in memories}
    for pool in map(str, client.smembers(SUMMARIZED)) if names else ():
        found = client.hgetall(SUMMARIES + pool).items()
        if gone := [str(field) for field, text in found if not names.isdisjoint(json.loads(text)[part])]:
            client.hdel(SUMMARIES + pool, *gone)


def forget_person(client: redis.Redis, person: str) -> None:
    """Remove all that is known of what a person has learnt, and the questions that they were deciding on."""
    client.delete(CARDS + person, UNGRADED + person, ASKING + person)
    client.srem(PEOPLE, person)


def _drop_that_name(client: redis.Redis, key: str, names: Collection[str]) -> None:
    """Remove the fields of a hash whose text has one of these ids."""
    found = client.hgetall(key).items()
    if gone := [str(field) for field, text in found if not set(UUID_TEXT.findall(str(text))).isdisjoint(names)]:
        client.hdel(key, *gone)


_HYPHEN = re.compile(r"(?<=\w)[-\u2010-\u2015\u2212](?=\w)")


def concept_key(name: str) -> str:
    """Key that all spellings of a concept share: NFKC, no case, no hyphens, the last word in the singular.

    A name of a single character stays as it is: `C` is a language, and `c` the speed of light.
    """
    text = " ".join(unicodedata.normalize("NFKC", name).split())
    if len(text) <= 1:
        return text
    words = _HYPHEN.sub(" ", text).casefold().split()
    return " ".join([*words[:-1], _singular(words[-1])]) if words else text


def _singular(word: str) -> str:
    """A word without its plural ending. It need not be a correct singular, only the same for singular and plural."""
    if len(word) < 4 or not word.isalpha() or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


MERGES = "memshare:concepts:merges:"
"""Of a pool, a list of JSON: the merges of its concepts, in the order in which they were made."""
DISMISSED = "memshare:concepts:dismissed:"
"""Of a pool, a hash: id of a gap, or of two similar names, that a person dismissed → JSON of names, when, by whom."""
_NOBODY = "anonymous"


def drop_decisions(client: redis.Redis, store: Store, purged: Iterable[Memory]) -> None:
    """Remove the decisions on concepts that only purged memories had: they would tell what those were about."""
    names: dict[str, set[str]] = {}
    for memory in purged:
        names.setdefault(memory.pool, set()).update(_keys(memory))
    for pool, gone in names.items():
        if not gone.isdisjoint(name for record in _records(client, pool) for name in _named(record)):
            left = {name for memory in every(store, Where(pool=pool)) for name in _keys(memory)}
            _rewrite(client, pool, without=gone - left)


def forget_decider(client: redis.Redis, person: str) -> None:
    """Keep the decisions of a purged person as they are, but forget who made them."""
    for prefix in (MERGES, DISMISSED):
        for name in client.scan_iter(prefix + "*"):
            _rewrite(client, str(name).removeprefix(prefix), unnamed=person)


def _keys(memory: Memory) -> set[str]:
    return {concept_key(name) for names in memory.concepts.values() for name in names}


def _named(record: dict[str, Any]) -> set[str]:
    """The keys of the names in a merge, or in what was dismissed."""
    return {concept_key(name) for name in record.get("names") or (record["of"], record["into"])}


def _records(client: redis.Redis, pool: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (*client.lrange(MERGES + pool, 0, -1), *client.hvals(DISMISSED + pool))]


def _rewrite(client: redis.Redis, pool: str, *, without: Collection[str] = (), unnamed: str | None = None) -> None:
    """Write the records of a pool again: none that has a name of `without`, and none by `unnamed`."""

    def written(text: str | bytes) -> str | None:
        record = json.loads(text)
        if not _named(record).isdisjoint(without):
            return None
        return json.dumps({**record, "by": _NOBODY} if record["by"] == unnamed else record)

    def work(pipe: redis.client.Pipeline) -> None:
        merges = [written(text) for text in pipe.lrange(MERGES + pool, 0, -1)]
        dismissed = {name: written(text) for name, text in pipe.hgetall(DISMISSED + pool).items()}
        pipe.multi()
        pipe.delete(MERGES + pool, DISMISSED + pool)
        for text in merges:
            if text is not None:
                pipe.rpush(MERGES + pool, text)
        for name, text in dismissed.items():
            if text is not None:
                pipe.hset(DISMISSED + pool, name, text)

    client.transaction(work, MERGES + pool, DISMISSED + pool)


WRONG_ANSWERS = "memshare:wrong_answers"
"""Hash: what an answer says, the memory that it is or would be, and the journey, if known → the `WrongAnswer`."""
SAME_PROMPT = 0.98  # cosine of the prompts of an answer of few words, such as "No." …
LIKE_PROMPT = 0.7  # … and of one that says by itself what it is about
FEW_WORDS = 4


class WrongAnswer(CalledWrong):
    """The prompt of an answer that was called wrong, whose task it was, and the memory that it is or would be.

    Without `curated` only whoever gave the task has said so: it counts for their own tasks. `hides` says that the
    memory is hidden for it; `marked` is the value of `saying` with its marks, which a program that grades may go by.
    """

    memory: UUID
    pool: Label
    prompt: str
    submitter: Label
    curated: bool
    hides: bool = False
    marked: str = ""

    def bars(self, pool: str, prompt: str | None, so: str = "it is not brought in") -> str:
        """Why its answer is not brought in for this prompt of a pool (a statement has none); empty where it is.

        `so` says what is not done for it.
        """
        if not (self.curated and self.pool == pool and said(self.prompt) == said(prompt or self.prompt)):
            return ""
        return (
            f"This answer was called wrong by {self.by!r} ({self.of}), so {so}. If it is right, take that back first, "
            "or show the memory again that is hidden for it."
        )

    @property
    def of(self) -> str:
        """The journey or the memory of which it was said, and the reason, if one was given."""
        of = f"journey {self.journey}" if self.journey else f"memory {str(self.copy_of or self.memory)[:8]}"
        return f"{of}: {self.why}" if self.why else of


Embed = Callable[[str], "NDArray[np.float32]"]


def each_barred(client: redis.Redis, given: Sequence[tuple[str, str, str | None]], embed: Embed, *so: str) -> list[str]:
    """Reasons why answers, each with its pool and prompt, are not brought in, as words on such a prompt stand; empty
    where none does."""
    known, vector = wrong_by_saying(client, (answer for answer, *_ in given)), cache(embed)
    if not known:
        return [""] * len(given)

    def faults(answer: str, pool: str, prompt: str | None) -> Iterator[str]:
        reaches = least_alike(answer) == LIKE_PROMPT
        for word in chain.from_iterable(known.get(each, ()) for each in sayings(answer)):
            is_near = reaches and word.pool == pool
            is_like = is_near and prompt and float(vector(word.prompt) @ vector(prompt)) >= LIKE_PROMPT
            yield word.bars(pool, word.prompt if is_like else prompt, *so)

    return [next(filter(None, faults(*each)), "") for each in given]


def refuse_wrong(client: redis.Redis, given: Sequence[tuple[str, str, str | None]], embed: Embed, *so: str) -> None:
    """Raise `WrongAgain` if whoever curates called one of these wrong, and nobody took that back."""
    for fault in filter(None, each_barred(client, given, embed, *so)):
        raise WrongAgain(fault)


def said_wrong(client: redis.Redis, pool: str, prompt: str, answer: str, submitter: str) -> str:
    """Who called an answer to this very prompt wrong, in a sentence, as far as that counts for this submitter's tasks;
    empty where nobody did."""
    for one in wrong_answers(client, answer):
        if one.pool == pool and said(one.prompt) == said(prompt) and (one.curated or one.submitter == submitter):
            return f"{one.by} called this answer to this prompt wrong ({one.of})."
    return ""


def least_alike(answer: str, *, by_program: bool = False) -> float:
    """The cosine of two prompts from which on the same answer says the same to both; a program tells them apart."""
    return SAME_PROMPT if by_program or len(tokens(answer)) <= FEW_WORDS else LIKE_PROMPT


def note_wrong(client: redis.Redis, answer: str, wrong: WrongAnswer) -> None:
    """Keep an answer from being admitted again, as long as a word of any journey stands."""
    kept = wrong.model_copy(update={"marked": saying(said(answer, by_program=True))})
    field = f"{saying(said(answer))} {wrong.memory} {wrong.journey}".rstrip()
    client.hset(WRONG_ANSWERS, field, kept.model_dump_json())


def no_longer_wrong(client: redis.Redis, answer: str, memory: UUID, journey: str | None = None) -> list[UUID]:
    """Let it be admitted again; with `journey` take back all that was said of that one alone.

    Returns the copies of which the memory's own word was said, too: that has ended as well.
    """
    copies = []
    these = {f"{each} {memory}" for each in sayings(answer)}
    for field, word in _words(client, [answer] if journey is None else None):
        is_copy = journey is None and word.copy_of == memory
        is_it = journey is None and " ".join(field.split()[:2]) in these
        if is_it or is_copy or word.journey == journey:
            client.hdel(WRONG_ANSWERS, field)
            copies += [word.memory] if is_copy else []
    return copies


def wrong_by_saying(client: redis.Redis, answers: Iterable[str] | None = None) -> dict[str, list[WrongAnswer]]:
    """Words of people on answers that were called wrong, or on all of them, by the value of `saying`."""
    found = defaultdict[str, list[WrongAnswer]](list)
    for field, word in _words(client, answers):
        found[field.split()[0]].append(word)
    return found


def _words(client: redis.Redis, answers: Iterable[str] | None) -> Iterator[tuple[str, WrongAnswer]]:
    there = [str(one) for one in client.hkeys(WRONG_ANSWERS)]
    of = {each for one in answers for each in sayings(one)} if there and answers is not None else None
    fields = [one for one in there if of is None or one.split()[0] in of]
    for field, text in zip(fields, client.hmget(WRONG_ANSWERS, fields) if fields else (), strict=True):
        if text is not None:  # it was taken back meanwhile
            yield field, WrongAnswer.model_validate_json(text)


def wrong_answers(client: redis.Redis, answer: str | None = None) -> Iterator[WrongAnswer]:
    """Words of people on an answer that was called wrong, or on all of them."""
    return chain.from_iterable(wrong_by_saying(client, None if answer is None else [answer]).values())


def wrong_prompts(
    client: redis.Redis, pool: str, answer: str, submitter: str, *, by_program: bool = False
) -> Iterator[str]:
    """The prompts for which an answer was called wrong, as far as that counts for this submitter's tasks.

    Where it is graded `by_program`, an answer with other marks is another one.
    """
    marked = saying(said(answer, by_program=True))
    for wrong in wrong_answers(client, answer):
        is_another = by_program and wrong.marked not in ("", marked)
        if wrong.pool == pool and (wrong.curated or wrong.submitter == submitter) and not is_another:
            yield wrong.prompt


def called_wrong(client: redis.Redis, memory: Memory) -> WrongAnswer | None:
    """A word that a memory is hidden for as long as it says this; None without one."""
    return next(words_that_hide(client, memory), None)


def words_that_hide(client: redis.Redis, memory: Memory) -> Iterator[WrongAnswer]:
    """All of these words."""
    return (one for one in wrong_answers(client, memory.answer) if one.hides and one.memory == memory.id)


def is_called_wrong(client: redis.Redis, memory: Memory) -> bool:
    """True if somebody called what a memory says wrong who may hide it, also while it was not there."""
    return any(one.curated or one.submitter == memory.submitter for one in words_that_hide(client, memory))
