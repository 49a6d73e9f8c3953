"""Chat models of OpenAI and of every server that speaks its chat completions (vLLM, Ollama, llama.cpp), and Batch API.

Servers may have the same Batch API, too.
"""

from __future__ import annotations

import math
import weakref
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import httpx2
import openai
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from memshare_broker.observe.safe_text import masked
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import FirstToken, NoLogprobs, Reply
from memshare_llm.completion import read_choice
from memshare_llm.providers.batch_jobs import ENDPOINT, LISTED, BatchJobs
from memshare_llm.providers.endpoint import find_endpoint
from memshare_llm.providers.http_client import MAX_REPLY_BYTES, MAX_WORDS, open_client, translate
from memshare_llm.providers.reply_limit import ReplyLimit, schema_name, strict_schema

if TYPE_CHECKING:
    from openai.types.shared_params import ResponseFormatJSONSchema

MOST_LIKELY = 20  # tokens; the most that OpenAI gives
# How a parameter is refused: OpenAI's reasoning models answer 400 or 403, some compatible servers 422.
_REFUSALS = (openai.BadRequestError, openai.PermissionDeniedError, openai.UnprocessableEntityError)
LIMIT = "max_completion_tokens"
ONE_TOKEN = {"logprobs": True, "top_logprobs": MOST_LIKELY, LIMIT: 1}


class _Listed(BaseModel):
    id: str


class _Listing(BaseModel):
    data: list[_Listed]


class OpenAIChat:
    """A model behind `OPENAI_API_KEY`, or behind the server at `OPENAI_BASE_URL`.

    `timeout` is for a whole call in seconds; `connections` is how many threads may call at once; `longest` is the most
    bytes of a reply. A reply is asked for without a temperature, which reasoning models refuse; one by a schema has a
    limit of tokens.
    """

    def __init__(self, model: str, *, timeout: float, connections: int, longest: int = MAX_REPLY_BYTES) -> None:
        key, address = find_endpoint("openai")
        http = open_client(timeout=timeout, connections=connections, longest=longest)
        weakref.finalize(self, http.close)
        self.name = f"openai:{model}"
        self.address = address
        self._model = model
        self._limit = ReplyLimit()
        # Retries are the queue's: the SDK's own would hold a worker's thread and exceed the timeout.
        self._client = openai.OpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=0, http_client=http)

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        body = self.request(turns, schema)
        with translated(self.name):
            try:
                completion = self._post(body)
            except _REFUSALS as error:
                if LIMIT not in body or not self._limit.is_refused(error.message):
                    raise
                del body[LIMIT]
                completion = self._post(body)
        return self.read(completion, schema)

    def request(self, turns: Sequence[Turn], schema: type[BaseModel] | None) -> dict[str, object]:
        body = self._body(turns)
        if schema:
            form: ResponseFormatJSONSchema = {
                "type": "json_schema",
                "json_schema": {"name": schema_name(schema), "schema": strict_schema(schema), "strict": True},
            }
            body["response_format"] = form
        if limit := self._limit.of(schema):
            body[LIMIT] = limit
        return body

    def read(self, body: str | bytes, schema: type[BaseModel] | None) -> Reply:
        return self._limit.read(self.name, body, schema)

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        with translated(self.name):
            try:
                completion = self._post(self._body(turns) | ONE_TOKEN)
            except _REFUSALS as error:
                words = masked(error.message)[:MAX_WORDS]
                raise NoLogprobs(f"{self.name} was asked for log-probabilities: {words}") from None
        return read_first_token(self.name, completion)

    def served(self) -> list[str]:
        """The models that the server says it has; none where it does not say. Raises `TryAgain` where it is away."""
        with translated(self.name):
            try:
                return [one.id for one in _Listing.model_validate_json(self._get("/models")).data]
            except (openai.APIStatusError, ValidationError):
                return []

    def _get(self, path: str) -> bytes:
        return self._client.get(path, cast_to=httpx2.Response).content

    def _body(self, turns: Sequence[Turn]) -> dict[str, object]:
        return {"model": self._model, "messages": [{"role": turn.role, "content": turn.content} for turn in turns]}

    def _post(self, body: dict[str, object]) -> bytes:
        """The server's reply as it came, because the SDK does not check what a compatible server sends.

        `chat.completions.create` does the same and takes more time to look through what it sends and gets.
        """
        return self._client.post("/chat/completions", cast_to=httpx2.Response, body=body).content


@contextmanager
def translated(model: str) -> Iterator[None]:
    """Raises `TryAgain` or `GiveUp` instead of the SDK's own errors.

    From none, where there is a response: the SDK's error has all of it, and a provider may echo the key.
    """
    try:
        yield
    except openai.APIStatusError as error:
        raise translate(model, error, error.response) from None
    except openai.APIError as error:
        raise translate(model, error) from error


class _Likely(BaseModel):
    token: str
    logprob: FiniteFloat


class _Position(BaseModel):
    top_logprobs: list[_Likely] = Field(min_length=1, fail_fast=True)


class _Logprobs(BaseModel):
    content: list[_Position] = Field(min_length=1, fail_fast=True)


def read_first_token(model: str, body: str | bytes) -> FirstToken:
    """The likeliest first tokens in a completion, which may be cut off after one token.

    Raises `NoLogprobs` if they are absent or in another form, and otherwise as `read_choice` does.
    """
    choice, usage = read_choice(model, body)
    try:
        first = _Logprobs.model_validate(choice.logprobs).content[0]
    except ValidationError as error:
        raise NoLogprobs(f"{model} replied without log-probabilities of its tokens.", usage) from error
    probabilities: defaultdict[str, float] = defaultdict(float)
    for one in first.top_logprobs[:MOST_LIKELY]:
        # Parts of a character can share their text; rounding can lift a logarithm a little above 0.
        probabilities[one.token] += math.exp(min(one.logprob, 0.0))
    return FirstToken(probabilities=dict(probabilities), model=model, usage=usage)


class OpenAIBatches(BatchJobs, OpenAIChat):
    """The jobs of a model."""

    _of_each: ClassVar = {"method": "POST", "url": ENDPOINT}

    def _upload(self, name: str, content: bytes) -> bytes:
        form = {"headers": {"Content-Type": "multipart/form-data"}}
        return self._sent("/files", {"purpose": "batch"}, files={"file": (name, content)}, options=form)

    def _create(self, file: str, metadata: dict[str, str]) -> bytes:
        job: dict[str, object] = {
            "input_file_id": file,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": metadata,
        }
        return self._sent("/batches", job)

    def _list(self) -> bytes:
        return self._told(f"/batches?limit={LISTED}")

    def _get_job(self, job: str) -> bytes:
        return self._told(f"/batches/{job}")

    def download(self, file: str) -> bytes:
        return self._told(f"/files/{file}/content")

    def _sent(self, path: str, body: dict[str, object], **more: Any) -> bytes:
        with translated(self.name):
            sent: httpx2.Response = self._client.post(path, cast_to=httpx2.Response, body=body, **more)
            return sent.content

    def _told(self, path: str) -> bytes:
        with translated(self.name):
            return self._get(path)
