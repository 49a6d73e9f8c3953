"""The experiments, each on a deployment of its own; what each returns are its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.sql.measures import (
    EDGE,
    ask_stream,
    gap,
    right_and_spoiled,
    share,
    unseen_right,
    with_encoder_alone,
    with_nothing_learnt,
)
from benchmarks.sql.world import AGENT, PEOPLE, SHARERS, World, pairs_of
from benchmarks.support.counts import calls_and_tokens
from benchmarks.support.deployment import Deployment, Refused
from benchmarks.support.orders import Figures, Say

FIRST = 200  # memories, whose calls are counted apart from those of the later ones


def seeds(at: Deployment, of: World, say: Say) -> Figures:
    """Graded memories and their lessons: what the encoder finds alone, and what it finds with the pool's map."""
    encoder = with_encoder_alone(at, of, of.memories)
    people = of.people(len(of.memories))
    counts = [at.counts()]
    for part in (slice(None, FIRST), slice(FIRST, None)):
        say(f"bringing in {len(of.memories[part])} seeds")
        at.seed(pairs_of(of.memories[part]), people[part])
        counts.append(at.counts())
    first = calls_and_tokens(counts[0], counts[1], FIRST)
    later = calls_and_tokens(counts[1], counts[2], len(of.memories) - FIRST)
    online, possible = unseen_right(at, of), of.possible(of.memories)
    return {
        "encoder": encoder,
        "online": online,
        "possible": possible,
        "gap_online": gap(encoder, online, possible),
        "calls_per_memory": {"first": first["calls"]["all"], "later": later["calls"]["all"]},
        "calls_first_200": first["calls"],
        "calls_later": later["calls"],
        "tokens_first_200": first["tokens"],
        "tokens_later": later["tokens"],
        "seeds_active_share": at.active_share(),
        "seeds_learnt": at.learnt(),
    }


def consolidation(at: Deployment, of: World, say: Say) -> Figures:
    """All training questions as graded memories, and the encoder trained on their lessons."""
    encoder = with_encoder_alone(at, of, of.trained)
    say(f"bringing in {len(of.trained)} seeds")
    at.seed(pairs_of(of.trained), of.people(len(of.trained)))
    learnt = at.learnt()
    say("consolidating")
    refused = None
    try:
        at.command("retriever", "consolidate")
    except Refused as error:
        refused = str(error)
    consolidated, possible = unseen_right(at, of), of.possible(of.trained)
    return {
        "consolidation_encoder": encoder,
        "consolidated": consolidated,
        "consolidation_possible": possible,
        "gap_consolidated": gap(encoder, consolidated, possible),
        "consolidation_refused": refused,
        "consolidation_learnt": learnt,
    }


def stream(at: Deployment, of: World, say: Say) -> Figures:
    """Imported memories, and graded questions in small batches: is what comes later answered better?"""
    encoder, possible = with_encoder_alone(at, of, of.memories), of.possible(of.memories)
    first_alone, last_alone = with_nothing_learnt(at, of)
    at.bring_in(pairs_of(of.memories), of.people(len(of.memories)), AGENT)
    counts, stored = at.counts(), at.stored()
    right = ask_stream(at, of, PEOPLE, say)
    spent = calls_and_tokens(counts, at.counts(), max(1, at.stored() - stored))
    after = unseen_right(at, of)
    return {
        "encoder_stream": encoder,
        "stream_after": after,
        "gap_stream": gap(encoder, after, possible),
        "stream_first_100": share(right[:EDGE]),
        "stream_last_100": share(right[-EDGE:]),
        "stream_first_100_nothing_learnt": first_alone,
        "stream_last_100_nothing_learnt": last_alone,
        "calls_stream": spent["calls"],
        "tokens_stream": spent["tokens"],
        "active_share": at.active_share(),
        "recall_ms": at.recall_ms([one.text for one in of.unseen]),
        "stream_learnt": at.learnt(),
    }


def sharing(at: Deployment, of: World, say: Say) -> Figures:
    """Agents among whom the queries are divided, each with its own pool, and then with one; all are asked in turn."""
    figures = {}
    for how in ("private", "shared"):
        say(f"asking agents with {how} pools")
        for number in range(SHARERS):
            own = [one for one in of.memories if one.query.number % SHARERS == number]
            pool = f"private{number}" if how == "private" else "shared"
            at.bring_in(pairs_of(own), [f"agent{number}"] * len(own), pool)
        figures[how] = unseen_right(at, of, [f"{how}{number}" for number in range(SHARERS)])
    return figures


def poison(at: Deployment, of: World, say: Say) -> Figures:
    """One of four submitters brings in a quarter of the memories with wrong answers; the others go on asking."""
    pairs, people, bad = of.spoiled()
    ids = at.bring_in(pairs, people, AGENT)
    spoiled = {str(one) for one, is_bad in zip(ids, bad, strict=True) if is_bad}
    before, shown_before = right_and_spoiled(at, of, spoiled)
    ask_stream(at, of, PEOPLE[:-1], say)
    at.settled(called=True)
    after, shown_after = right_and_spoiled(at, of, spoiled)
    return {
        "poison_before": before,
        "poison_after": after,
        "poison_shown_before": shown_before,
        "poison_shown_after": shown_after,
        "poison_active_share": at.active_share(),
        "poison_learnt": at.learnt(),
    }


EXPERIMENTS: Mapping[str, Callable[[Deployment, World, Say], Figures]] = {
    "seeds": seeds,
    "consolidation": consolidation,
    "stream": stream,
    "sharing": sharing,
    "poison": poison,
}
SETTINGS: Mapping[str, dict[str, str]] = {
    "seeds": {"MEMSHARE_CONSOLIDATE": "false"},
    "consolidation": {"MEMSHARE_CONSOLIDATE": "false", "MEMSHARE_LESSON_SHARE": "1"},
}
"""What differs from the defaults in an experiment."""
