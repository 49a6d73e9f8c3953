"""Does the claim that is right become the more credible one? `python -m benchmarks.credibility`.

Both claims of each SciFact pair are stored, with equal credibility, and asked about for some epochs. Each time both are
shown, and a discriminator says of each whether it is right; that credits it. In the end the two are linked as a
contradiction, and recall shows one: which? Pool, bandit and recall are the real ones.

The discriminator is a simulation: it is right with probability p, whatever the claim. With `--model` it is that chat
model, asked about the claim alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import typer
from pydantic import BaseModel, ConfigDict

from benchmarks.own_pool import OwnPool, own_pool
from benchmarks.report import aim, print_figures, progress
from memshare.broker.settings import load_settings
from memshare.broker.wire.messages import Shown, Turn, VerdictTask
from memshare.llm.chat import Chat
from memshare.llm.models import open_chat
from memshare.llm.structured import ask
from memshare.memory_service.curate.requests import NewMemory

DATA = Path("../shared/data/scifact_pairs.jsonl")
RIGHT_WITH = (0.6, 0.7, 0.8, 0.9, 0.95)
EPOCHS = (3, 5)
AIM_AT, AIM = "0.8", 0.9

Judge = Callable[[str, bool], bool]
"""From a claim, and whether it is supported, to the verdict."""


class Pair(NamedTuple):
    """A supported and a contradicted claim, and the words that they share: the question."""

    supported: str
    contradicted: str
    question: str


class Verdict(BaseModel):
    """What a model says of a claim."""

    model_config = ConfigDict(extra="forbid")

    right: bool


def main(
    data: Annotated[Path, typer.Option(help="JSON lines with a supported and a contradicted claim each.")] = DATA,
    model: Annotated[str | None, typer.Option(help="A chat model as the discriminator: openai:NAME …")] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated discriminator.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the curves are drawn.")] = Path("credibility.png"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure, print the shares, and draw them."""
    pairs = read_pairs(data)
    judges: dict[str, Judge] = {str(p): simulated(p, seed) for p in RIGHT_WITH}
    if model is not None:
        chat = open_chat(model, timeout=load_settings().model_timeout, connections=1)
        judges = {model: lambda claim, _: by_model(chat, claim)}
    with own_pool() as pool:
        share = {
            name: learnt(pool, f"claims-{number}", pairs, judge)
            for number, (name, judge) in enumerate(progress(list(judges.items()), "Judging"))
        }
    if model is None:
        draw(share, out)
    figures = {"share": share, "pairs": len(pairs), "discriminator": model or "simulated"}
    shown: dict[str, Any] = {f"right with p = {name}": by_epoch for name, by_epoch in share.items()}
    notes = ["The discriminator is a simulation, right with probability p."] if model is None else []
    if AIM_AT in share:
        notes.append(aim(f"share at p = {AIM_AT} after 5 epochs", share[AIM_AT]["5"], AIM, ""))
    title = f"Pairs of {len(pairs)} whose supported claim ranks above, by epochs"
    print_figures(title, figures if as_json else shown, as_json=as_json, notes=notes)


def read_pairs(file: Path) -> list[Pair]:
    """The pairs of a file; the question is what both claims say, in the words of the first."""
    pairs = []
    for line in file.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        other = {word.strip(".,").casefold() for word in value["contradicted"].split()}
        shared = [word for word in value["supported"].split() if word.strip(".,").casefold() in other]
        pairs.append(Pair(value["supported"], value["contradicted"], " ".join(shared)))
    return pairs


def simulated(p: float, seed: int) -> Judge:
    """Right with probability p."""
    chance = random.Random(f"{seed} {p}")
    return lambda _, supported: supported == (chance.random() < p)


def by_model(chat: Chat, claim: str) -> bool:
    """What a chat model says of a claim."""
    turns = (
        Turn(role="system", content="The user's turn is a scientific claim. Say whether it is right."),
        Turn(role="user", content=json.dumps({"claim": claim})),
    )
    return ask(chat, turns, Verdict).value.right


def learnt(pool: OwnPool, name: str, pairs: Sequence[Pair], judge: Judge) -> dict[str, float]:
    """The share of pairs whose supported claim recall shows, by epochs."""
    ids = {
        claim: pool.curate.add([NewMemory(pool=name, answer=claim)])[0]
        for pair in pairs
        for claim in sorted((pair.supported, pair.contradicted))  # so that neither kind comes first
    }
    share = {}
    for epoch in range(1, max(EPOCHS) + 1):
        for pair in pairs:
            for claim, right in ((pair.supported, True), (pair.contradicted, False)):
                shown = (Shown(id=ids[claim], similarity=1.0),)
                verdict = float(judge(claim, right))
                journey = f"{name} {epoch} {ids[claim]}"
                task = VerdictTask(journey=journey, pool=name, prompt=pair.question, shown=shown, verdict=verdict)
                pool.settle.credit(task)
        if epoch in EPOCHS:
            share[str(epoch)] = round(sum(is_above(pool, name, pair, ids) for pair in pairs) / len(pairs), 4)
    return share


def is_above(pool: OwnPool, name: str, pair: Pair, ids: dict[str, UUID]) -> bool:
    """Whether recall shows the supported claim and not the other, now that they contradict each other."""
    supported, contradicted = ids[pair.supported], ids[pair.contradicted]
    pool.standing.conflicts.link(name, supported, contradicted)
    vector = pool.recall.embed(pair.question).unpack()
    found = [hit.memory.id for hit in pool.recall.nearest(name, pair.question, vector, 20, "dense").hits]
    pool.standing.conflicts.drop(name, [supported])
    if supported in found and contradicted in found:
        raise AssertionError(f"Both claims of a linked pair were shown: {pair.supported!r}")
    return supported in found


def draw(share: dict[str, dict[str, float]], file: Path) -> None:
    """Write the shares as PNG: a line for each number of epochs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for epochs, colour in zip(EPOCHS, ("#D55E00", "#0072B2"), strict=True):
        shares = [of[str(epochs)] for of in share.values()]
        axes.plot([float(p) for p in share], shares, "o-", color=colour, label=f"after {epochs} epochs")
    axes.axhline(AIM, color="#999999", linestyle=":", linewidth=1)
    axes.set(
        title="Which of two contradicting claims agents are shown",
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
