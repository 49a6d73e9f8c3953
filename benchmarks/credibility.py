"""Does the claim that is right become the more credible one? `python -m benchmarks.credibility`.

Both claims of each SciFact pair are brought in, as a person does, and their question is answered by the engine of the
reasoning agent for some epochs: it searches the pool, answers with what it finds, and its discriminator says whether
that is right, which credits it; a rejected answer is followed by another one. Nobody says which claims contradict each
other: the pool looks for what may, as always, and the scorer asks a model. Which one is recalled first? And is a good
memory hidden only because its tasks are hard, or its shares small? Engine, pool, bandit and recall are real.

The discriminator is a simulation: it is right with probability p, whatever the claim. The responder answers with the
claims on the question, in the order in which they are recalled. The model that compares is one that knows the pairs.
With `--model` all are that chat model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from benchmarks.claims import Answerer, ClaimPair, Judge, KnowsThePairs, read_pairs, simulated
from benchmarks.credit_fairness import hard_tasks, settle_graded, verified_small_share
from benchmarks.own_pool import OwnPool, own_pool
from benchmarks.report import Aim, print_figures, progress
from benchmarks.support.counts import CountedChat, Tally, calls_and_tokens
from memshare_agents.reasoning.engine import OPERATORS, Engine, EngineRun, judged_in, shown_in
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.run_state import RunLimits
from memshare_agents.reasoning.sources.build import open_sources
from memshare_broker.errors import BadInput
from memshare_broker.settings import load_settings
from memshare_broker.wire.grades import VerdictTask
from memshare_broker.wire.lessons import CompareTask
from memshare_llm.batches import MOST
from memshare_llm.chat import Chat
from memshare_llm.models import open_chat
from memshare_memory.curate.requests import NewMemory
from memshare_scorer.contradiction import compare

DATA = Path("../shared/data/scifact_pairs.jsonl")
RIGHT_WITH = (0.6, 0.7, 0.8, 0.9, 0.95)
EPOCHS = (3, 5)
SHOWN = 5  # memories a search, as the reasoning agent has them
LIMITS = RunLimits(steps=10)
GOOD = 90.0  # the score of a verified answer
AIMS = (
    Aim("right_first_at_0.8", 0.9, "of pairs after 5 epochs"),
    Aim("hard_tasks", 0.95, "of memories"),
    Aim("verified_small_share", 1.0, "of memories"),
)


def main(
    data: Annotated[
        Path,
        typer.Option(exists=True, dir_okay=False, help="Pairs of claims, or the claims of SciFact."),
    ] = DATA,
    model: Annotated[str | None, typer.Option(help="A chat model as the discriminator: openai:NAME …")] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated discriminator.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the curves are drawn.")] = Path("credibility.png"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure, print the shares, and draw them."""
    try:
        pairs = read_pairs(data)
    except BadInput as error:
        raise typer.BadParameter(str(error), param_hint="--data") from error
    judges: dict[str, Judge] = {str(p): simulated(p, seed) for p in RIGHT_WITH}
    tally = Tally()
    comparer = CountedChat(KnowsThePairs(pairs), tally)
    chat = None
    if model is not None:
        settings = load_settings()
        chat = comparer = CountedChat(open_chat(model, timeout=settings.model_timeout, connections=1), tally)
        judges = {model: simulated(1, seed)}  # who is never asked
    share: dict[str, dict[str, float]] = {}
    with own_pool() as pool:
        for number, (name, judge) in enumerate(progress(list(judges.items()), "Judging")):
            ids = brought_in(pool, f"claims-{number}", pairs, comparer)
            found = {frozenset(one.memories) for one in pool.standing.conflicts.pairs(f"claims-{number}")}
            chats = [chat or Answerer(pair, judge) for pair in pairs]
            share[name] = learnt(pool, f"claims-{number}", pairs, ids, chats)
        own = {frozenset((ids[one.supported], ids[one.contradicted])) for one in pairs}
        figures: dict[str, Any] = {
            "pairs": len(pairs),
            "discriminator": model or "simulated",
            "conflicts_found": round(len(found & own) / len(own), 4),
            "conflicts_besides": len(found - own),
            "right_first_at_0.8": share.get("0.8", {}).get("5"),
            "hard_tasks": hard_tasks(pool, "hard", seed, kinds=True),
            "hard_tasks_without_kinds": hard_tasks(pool, "mixed", seed, kinds=False),
            "verified_small_share": verified_small_share(pool, "shares"),
            **calls_and_tokens(Tally().counts, tally.counts, len(ids) * len(judges)),
        }
    if model is None:
        draw(share, out)
    shown: dict[str, Any] = {f"right with p = {name}": by_epoch for name, by_epoch in share.items()}
    notes = ["The discriminator is a simulation, right with probability p."] if model is None else []
    title = f"Pairs of {len(pairs)} whose supported claim ranks above, by epochs"
    measured = {name: value for name, value in figures.items() if value is not None}
    print_figures(title, measured | ({"share": share} if as_json else shown), as_json=as_json, notes=notes, aims=AIMS)


def brought_in(pool: OwnPool, name: str, pairs: Sequence[ClaimPair], comparer: Chat) -> dict[str, UUID]:
    """The ids of the claims in a new pool, which has looked for those that contradict each other."""
    claims = sorted({claim for pair in pairs for claim in (pair.supported, pair.contradicted)})
    ids = pool.curate.add([NewMemory(pool=name, answer=claim) for claim in claims])
    waiting = [one.body for one in pool.sent if isinstance(one.body, CompareTask)]
    pool.sent.clear()
    while waiting:
        compared = compare(comparer, waiting[:MOST])
        for task in waiting[: len(compared)]:
            pool.standing.conflicts.note(name, compared[task.journey], [other.id for other in task.others])
        waiting = waiting[len(compared) :]
    return dict(zip(claims, ids, strict=True))


def learnt(
    pool: OwnPool, name: str, pairs: Sequence[ClaimPair], ids: dict[str, UUID], chats: Sequence[Chat]
) -> dict[str, float]:
    """The share of pairs whose supported claim recall shows first or alone, by epochs; each pair has its model."""
    share = {}
    sources = open_sources(load_settings(), pool.door)  # type: ignore[arg-type]
    knowledge = Knowledge(pool.door, name, SHOWN, "hybrid")  # type: ignore[arg-type]
    for epoch in range(1, max(EPOCHS) + 1):
        for number, (pair, chat) in enumerate(zip(pairs, chats, strict=True)):
            chat_of = dict.fromkeys(OPERATORS, chat).__getitem__
            run = Engine(OPERATORS, LIMITS, chat_of, knowledge, sources).run(pair.question, "Answer.")
            credit(pool, name, f"{name} {epoch} {number}", pair.question, run)
        if epoch in EPOCHS:
            share[str(epoch)] = round(sum(is_above(pool, name, pair, ids) for pair in pairs) / len(pairs), 4)
    return share


def credit(pool: OwnPool, name: str, journey: str, question: str, run: EngineRun) -> None:
    """Credit what the answers of a run rest on, as its agent, the scorer and the memory service do."""
    if judged := judged_in(run):
        first, *others = judged
        pool.settle.credit(
            VerdictTask(
                journey=journey,
                pool=name,
                prompt=question,
                shown=first.shown,
                verdict=first.verdict,
                others=tuple(others),
            )
        )
    if run.verified and run.proposal:
        settle_graded(pool, name, journey, shown_in(run), GOOD, None, question)


def is_above(pool: OwnPool, name: str, pair: ClaimPair, ids: dict[str, UUID]) -> bool:
    """Whether recall shows the supported claim, and the other one behind it or not at all."""
    vector = pool.recall.embed(pair.question).unpack()
    found = [hit.memory.id for hit in pool.recall.nearest(name, pair.question, vector, 20, "dense").hits]
    right, wrong = ids[pair.supported], ids[pair.contradicted]
    return right in found and (wrong not in found or found.index(right) < found.index(wrong))


def draw(share: dict[str, dict[str, float]], file: Path) -> None:
    """Write the shares as PNG: a line for each number of epochs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for epochs, colour in zip(EPOCHS, ("#D55E00", "#0072B2"), strict=True):
        shares = [of[str(epochs)] for of in share.values()]
        axes.plot([float(p) for p in share], shares, "o-", color=colour, label=f"after {epochs} epochs")
    axes.axhline(AIMS[0].bound, color="#999999", linestyle=":", linewidth=1)
    axes.set(
        title="Which of two contradicting claims agents are shown first",
        xlabel="probability that the simulated discriminator is right",
        ylabel="share of pairs: the supported one",
        ylim=(0.45, 1.02),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    typer.run(main)
