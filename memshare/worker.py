"""One worker for any of the queues; `celery -A memshare.worker worker` runs it too."""

import agents.worker
import memory_service.worker
import retriever_trainer.worker
import scorer.worker
from agents.roster import load_roster
from broker.settings import Settings
from broker.worker import worker_app
from llm.models import open_chat
from llm.prices import load_prices
from scorer.rubric import all_rubrics

parts = (agents.worker.part, scorer.worker.part, memory_service.worker.part, retriever_trainer.worker.part)
app = worker_app(*parts)


def check(settings: Settings) -> None:
    """Raise `BadInput` for what a worker would refuse: a broken file, a model it cannot open, a missing key."""
    roster = load_roster(settings.agents_dir)
    all_rubrics(settings.agents_dir)
    load_prices(settings.prices)
    named = {agent.model for agent in roster.values() if agent.model}
    for model in {settings.model_for("agents"), settings.model_for("scorer"), settings.model_for("trainer"), *named}:
        open_chat(model, timeout=settings.model_timeout, connections=1)
