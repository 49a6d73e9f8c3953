"""Whether the server of a chat model has it: asked before anything is started, so that a wrong name is read at once."""

from __future__ import annotations

import os
from collections.abc import Iterable

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.settings import MODELS_OF_ROLES, Settings
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import RefusedReply, UselessReply
from memshare_llm.models import open_chat
from memshare_llm.providers.endpoint import OWN

LIST_WITHIN = 10.0  # seconds
SHOWN = 20  # models of a server
_HELLO = (Turn(role="user", content="Say hello."),)


def try_models(settings: Settings, models: Iterable[str]) -> list[str]:
    """Ask the servers of OpenAI models whether they have them; returns warnings about servers that are away.

    A model is tried by one call where the server is not OpenAI's own, or does not list it: some take any name. Raises
    `BadInput` for a model that is refused.
    """
    of_openai = sorted(name for name in models if name.startswith("openai:"))
    if not of_openai and (address := os.environ.get("OPENAI_BASE_URL")):
        unused = f"OPENAI_BASE_URL is set to {address}, and no model of that server is named, so it is not used."
        return [f"{unused} Set MEMSHARE_MODEL=openai:NAME."]
    return [warning for name in of_openai for warning in _try(settings, name)]


def _try(settings: Settings, name: str) -> list[str]:
    from memshare_llm.providers.openai_chat import OpenAIChat  # takes a second to import

    served: list[str] = []
    asked = open_chat(name, timeout=LIST_WITHIN, connections=1)
    assert isinstance(asked, OpenAIChat)
    try:
        served = asked.served()
        if asked.address == OWN["openai"] and name.partition(":")[2] in served:
            return []
        open_chat(name, timeout=settings.model_timeout, connections=1).reply(_HELLO)
    except (UselessReply, RefusedReply):
        return []
    except TryAgain as error:
        return [f"{asked.address} is not ready, and tasks wait until it is: {error}"]
    except GiveUp as error:
        there = f" It has: {_listed(served)}." if served else ""
        raise BadInput(
            f"{asked.address} does not serve the model {name!r} of {_origin(settings, name)}: {error}.{there}"
            " Set MEMSHARE_MODEL=openai:NAME to a model that it has, or OPENAI_BASE_URL to another server."
        ) from error
    return []


def _origin(settings: Settings, name: str) -> str:
    named = [f"MEMSHARE_{one.upper()}" for one in ("model", *MODELS_OF_ROLES) if getattr(settings, one) == name]
    return " and ".join(named) or "an agent's file, or the default"


def _listed(served: list[str]) -> str:
    more = f" and {len(served) - SHOWN} more" if len(served) > SHOWN else ""
    return ", ".join(sorted(served)[:SHOWN]) + more
