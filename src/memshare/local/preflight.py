"""What is looked at before workers are started, so that a person reads what is wrong at once."""

from __future__ import annotations

from memshare.agents.roster import load_roster
from memshare.broker.settings import Settings
from memshare.llm.limits.prices import load_prices
from memshare.llm.models import open_chat
from memshare.scorer.rubric import all_rubrics


def check(settings: Settings) -> None:
    """Raise `BadInput` for what a worker would refuse: a broken file, a model it cannot open, a missing key."""
    roster = load_roster(settings.agents_dir)
    all_rubrics(settings.agents_dir)
    load_prices(settings.prices)
    named = {agent.model for agent in roster.values() if agent.model}
    for model in {settings.model_for("agents"), settings.model_for("scorer"), settings.model_for("trainer"), *named}:
        open_chat(model, timeout=settings.model_timeout, connections=1)
