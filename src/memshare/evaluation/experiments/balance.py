"""Own memories, those of other models, or both, with their ranks in balance?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from memshare.broker.connection import connect
from memshare.client import Client
from memshare.evaluation.data import Item
from memshare.evaluation.experiment import NO_MEMORIES, Experiment
from memshare.evaluation.lab import Lab
from memshare.evaluation.queues import Change, Pair
from memshare.evaluation.variants import Label, Setup
from memshare.memory_service.recall.balance import balance_key, balances

WRITTEN_OF = 2  # one of so many queries becomes a memory; with the others it is learnt who helps more

WRITING = Label("writing", lambda pool, _: f"{pool}-writing")
OWN_ONLY = Label("own-only", lambda pool, number: f"{pool}-own-only-{number}")
FOREIGN_ONLY = Label("foreign-only", lambda pool, number: f"{pool}-foreign-only-{number}")
MIXED = Label("mixed", lambda pool, number: f"{pool}-mixed-{number}")


def run(lab: Lab) -> None:
    """Each model writes memories; each then reads its own, those of others, and both without and with the balance."""
    to_write, to_practise = lab.split.queries[::WRITTEN_OF], lab.split.queries[1::WRITTEN_OF]
    lab.remember("seeds", lab.setup(WRITING, lab.models[0]), lab.seeds)
    written = {
        model: {pair.item.id: pair for pair in lab.write("write", lab.setup(WRITING, model), to_write)}
        for model in lab.models
    }
    same = [item for item in to_write if all(item.id in pairs for pairs in written.values())]
    lab.notes.append(f"Every pool has {len(same)} of {len(to_write)} queries: those that all answered well.")
    if len(lab.models) == 1:
        lab.notes.append("One model wrote all, so there is nothing to balance: name another with --models.")
    for model in lab.models:
        _read(lab, model, same, written, to_practise)


def _read(
    lab: Lab, model: str, same: list[Item], written: Mapping[str, Mapping[str, Pair]], to_practise: tuple[Item, ...]
) -> None:
    own = [written[model][item.id] for item in same]
    own_only = lab.setup(OWN_ONLY, model)
    lab.remember("own only", own_only, own)
    lab.measure(NO_MEMORIES, own_only, k=0)
    lab.measure("own only", own_only)
    others = [one for one in lab.models if one != model]
    if not others:
        return
    foreign = [written[others[place % len(others)]][item.id] for place, item in enumerate(same)]
    foreign_only, mixed = lab.setup(FOREIGN_ONLY, model), lab.setup(MIXED, model)
    lab.remember("foreign only", foreign_only, foreign)
    lab.measure("foreign only", foreign_only)
    lab.remember("mixed", mixed, [(own, foreign)[place % 2][place] for place in range(len(same))])
    if lab.learning:
        lab.practise("practise", mixed, to_practise)
        lab.measure("balanced", mixed)
        # The same memories, found by the same retriever and as credible as before: the balance alone is off.
        lab.change(f"balance off {model}", Change(lambda client: _off(client, lab, mixed)))
    lab.measure("mixed", mixed)


def _off(client: Client, lab: Lab, setup: Setup) -> str:
    """Forget what was learnt of own and foreign memories; returns what that was."""
    pools = sorted({lab.pool_of(setup, item) for item in lab.split.queries})
    with closing(connect(client.settings.redis)) as own:
        told = [
            f"{pool}, {kind or 'no kind'}: {balance.shift:+.1%}"
            for pool in pools
            for kind, balance in balances(own, pool).items()
        ]
        own.delete(*map(balance_key, pools))
    learnt = f"ranks of own memories were moved by {'; '.join(told)}" if told else "nothing was learnt to balance by"
    return f"{setup.model}, balanced: {learnt}."


BALANCE = Experiment(
    "balance",
    "Own and foreign memories",
    "Does a model do best with its own memories, those of other models, or both, and does it help to balance the two?",
    "Each model answers every other query with the seeds as memories. The questions of which every model's answer was "
    "accepted make three pools for each model: its own answers, those of the others, and both in turn (mixed). With "
    "the mixed pool it then answers the remaining queries, which are not remembered; their grades tell for each kind "
    "whether own or foreign memories help more. 'balanced' moves ranks by that, 'mixed' is the same pool without it. "
    "Each memory is a lesson for the retriever of its pool. The test set is answered with three memories of each.",
    lambda models: [WRITING, OWN_ONLY, *([FOREIGN_ONLY, MIXED] if models > 1 else [])],
    run,
    baseline=NO_MEMORIES,
    learns=True,
    least_models=2,
)
