"""What must be, whatever breaks: a sentence for each thing that is not."""

from __future__ import annotations

from tests.faults.run import Result


def failings(result: Result) -> list[str]:
    """What a result shows that must not be; nothing for a scenario that was skipped."""
    found = result.count
    if found is None:
        return []
    if not result.in_flight:
        return ["no task was in flight when the fault began, so that the run proves nothing"]
    if result.struck is not None and result.struck < result.strikes:
        return [f"the fault struck {result.struck} of {result.strikes} times, so that the run proves nothing"]
    if result.loses:
        return [] if found.lost else ["no message was lost without the sweeper, so that the run proves nothing"]
    _, drained = result.drained or (0.0, 0.0)
    died = sum(found.dead.values()) - found.refused - (found.hostile if result.hostile else 0)
    wrong = {
        f"{found.unended} accepted tasks have neither an answer nor a dead letter": found.unended,
        f"{found.told_failure} tasks have an answer, and their submitters are told of a failure": found.told_failure,
        f"{found.open} messages are still open, {found.lost} of them in no queue and no worker": found.open,
        f"{found.dead.get('bug')} dead letters tell of a bug": "bug" in found.dead,
        f"{died} tasks died that the model had not refused: {found.dead}": died and not result.dies,
        f"{found.duplicates} memories are in the pool twice": found.duplicates,
        f"{found.missing} memories that were stored are not in the pool": found.missing,
        f"answers were shown {found.unknown} memories that are not in the pool": found.unknown,
        f"stages were counted more or less often than tasks went through them: {found.miscounted}": found.miscounted,
        f"{found.lessons_twice} lessons were counted twice or not at all": found.lessons_twice,
        f"credits of memories are off by {found.credits_amiss}": found.credits_amiss,
        f"{found.unnamed} memories have no concepts": found.unnamed,
        f"{found.named_twice} memories got concepts twice": found.named_twice,
        f"workers crashed: {', '.join(result.crashes)}": result.crashes,
        "no task went all the way again after the fault": result.recovered is None,
        f"what was under way ended {drained} s after the fault, not within {result.drains_within} s": (
            result.drains_within is not None and drained > result.drains_within
        ),
    }
    return [sentence for sentence, is_wrong in wrong.items() if is_wrong]
