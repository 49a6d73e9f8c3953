"""The offline model, which is none: what stands in where no chat model is set, and what is said of that."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.settings import OFFLINE, Role, Settings
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat, FirstToken, Reply

HOW_TO_SET = (
    "Set OPENAI_API_KEY or MISTRAL_API_KEY; or, for a server of your own, MEMSHARE_MODEL and its address, such as "
    "OPENAI_BASE_URL=http://localhost:11434/v1 MEMSHARE_MODEL=openai:qwen3"
)

NONE_SET = f"There is no chat model. {HOW_TO_SET}."


class NoModelSet(GiveUp):
    """There is no model, and what was asked for takes one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "no model")


class NoModel:
    """Stands in where no model is set. It can be opened and asked for its name, and answers nothing."""

    name = OFFLINE

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:  # noqa: ARG002
        raise NoModelSet(NONE_SET)

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoModelSet(NONE_SET)


def has_model(chat: Chat) -> bool:
    """True if there is a model behind it, which can be called."""
    return chat.name != OFFLINE


def require_model(settings: Settings, role: Role, what: str) -> None:
    """Raise `BadInput` where a role has no model and `what`, the subject of a sentence, needs one."""
    if settings.model_for(role) == OFFLINE:
        raise BadInput(needs_model(what))


def needs_model(what: str) -> str:
    """The sentence that says so, and how to set one."""
    return f"{what} needs a chat model, and none is set. {HOW_TO_SET}."
