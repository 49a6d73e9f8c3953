"""What the words of the pages mean, as docs/glossary.md says it, and plain words for what programs call otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from memshare.client.rest.calls.journeys import State
from memshare_broker.wire.grades import SettlementOutcome

MEANINGS: Mapping[str, str] = {
    "agent": "a worker that answers tasks from its own queue: a file with instructions, kinds of tasks and a pool",
    "cluster": "memories of a pool that share concepts",
    "concept": "what a memory is about, in a word or two",
    "consolidation": "training of the encoder itself on what the lessons taught",
    "credibility": "how well tasks went that were shown a statement; 1 is one that nobody has tried",
    "criterion": "one line of a rubric: its points come from the model's range, or from a program",
    "dead letter": "a message that was given up, kept until you decide",
    "encoder": "turns a text into numbers, so that texts that mean the same lie near each other",
    "gap": "what a pool is likely to lack",
    "journey": "everything that becomes of one task, under one id; `memshare trace ID` tells it",
    "kind": "what sort of task it is, such as a limerick; the rubric and what is usual depend on it",
    "lesson": "one new memory with labels that say which others would have helped to answer it",
    "lift": "by how many points a shown memory raises a score, measured by withholding some at random",
    "memory": "a prompt with an answer that was graded well, or a statement",
    "pool": "the memories that some agents share",
    "proven": "somebody speaks for the memory's submitter",
    "retriever": "what finds memories for a task: encoder, the pool's map, and the worth of submitters",
    "rubric": "how answers are graded: criteria with points, and a threshold",
    "similarity": "how near two texts are in meaning; 1 is the same",
    "stale": "a memory whose source has changed, is gone or was found wrong: it waits for a person",
    "statement": "a memory without a prompt: a fact by itself",
    "submitter": "who handed in a task or a memory",
    "threshold": "the score from which an answer is accepted, and remembered",
    "withheld": "found for a task and, at random, not shown, to measure what memories do",
    "worth": "how much better or worse than the pool's mean a submitter's memories turn out to be",
}
"""Word → what it means here."""
STATES: Mapping[State, str] = {
    "queued": "waiting",
    "asked": "question asked",
    "answered": "answered",
    "graded": "graded",
    "settled": "done",
    "dead": "given up",
    "cancelled": "cancelled",
}
"""State of a journey → what a page calls it."""
OUTCOMES: Mapping[SettlementOutcome, str] = {
    "stored": "yes",
    "replaced": "yes, in the place of a poorer one",
    "duplicate": "no: one that is as good was there",
    "rejected": "no: not good enough",
    "not kept": "no: it was not kept",
    "not graded": "no: it was not graded",
}
"""What became of an answer → whether it is remembered."""
