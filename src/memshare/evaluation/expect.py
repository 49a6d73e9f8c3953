"""What an experiment will take, before anything is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memshare.evaluation.data import Split
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.folder import Folder, Prepared, read_preparation
from memshare.evaluation.rehearsal import Rehearsal
from memshare.evaluation.request import Request, plan_of, roster_of
from memshare_broker.settings import Settings
from memshare_llm.limits.prices import load_prices


class Expected(NamedTuple):
    """What an experiment will take: `most` is an upper bound of the calls, the rest what it takes where nothing fails.

    The tokens, and so the money, are an estimate.
    """

    tasks: int
    calls: dict[str, int]
    most: dict[str, int]
    tokens: dict[str, int]
    money: float
    unpriced: tuple[str, ...]
    currency: str | None


def expect(requests: Sequence[Request], settings: Settings) -> list[Expected]:
    """Go through the experiments without calling anybody, and count; what the first prepares, the others have."""
    expected = []
    known: dict[Split, dict[str, Prepared]] = {}
    for request in requests:
        if Folder(request.out / request.experiment.name).result() is not None:
            expected.append(Expected(0, {}, {}, {}, 0.0, (), None))
            continue
        rehearsal = Rehearsal(settings, roster_of(request, settings))
        if request.split not in known:
            before = read_preparation(request.out, plan_of(request, settings))
            known[request.split] = before or prepare(request, rehearsal)
        lab = conduct(request, rehearsal, settings, known[request.split])
        if request.judge is not None:
            rehearsal.judge(request.judge, [(one.prompt, one.answer) for one in lab.measured])
        expected.append(_expected(rehearsal, settings))
    return expected


def _expected(rehearsal: Rehearsal, settings: Settings) -> Expected:
    prices = load_prices(settings.prices)
    usages = {model: rehearsal.usage(model) for model in rehearsal.calls}
    return Expected(
        rehearsal.tasks,
        dict(rehearsal.calls),
        dict(rehearsal.most),
        {model: usage.prompt_tokens + usage.completion_tokens for model, usage in usages.items()},
        sum(prices.cost(model, usage) for model, usage in usages.items()),
        tuple(model for model in usages if prices.of(model) is None),
        prices.currency,
    )
