"""Chat models of Mistral, and its Batch API."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
from mistralai.client import Mistral
from mistralai.client.errors import MistralError
from mistralai.client.models import File
from mistralai.client.types import UNSET
from pydantic import BaseModel

from memshare_broker.wire.messages import Turn
from memshare_llm.chat import FirstToken, NoLogprobs, Reply
from memshare_llm.providers.batch_jobs import ENDPOINT, LISTED, BatchJobs
from memshare_llm.providers.endpoint import find_endpoint
from memshare_llm.providers.http_client import MAX_REPLY_BYTES, open_client, translate
from memshare_llm.providers.reply_limit import ReplyLimit, schema_name, strict_schema


class MistralChat:
    """A model behind `MISTRAL_API_KEY`, or behind the server at `MISTRAL_BASE_URL`.

    `timeout` is for a whole call in seconds; `connections` is how many threads may call at once; `longest` is the most
    bytes of a reply.
    """

    def __init__(self, model: str, *, timeout: float, connections: int, longest: int = MAX_REPLY_BYTES) -> None:
        key, address = find_endpoint("mistral")
        http = open_client(timeout=timeout, connections=connections, longest=longest)
        weakref.finalize(self, http.close)
        self.name = f"mistral:{model}"
        self._model = model
        self._limit = ReplyLimit()
        # Retries are the queue's: without a retry_config the SDK makes none.
        self._client = Mistral(
            api_key=key,
            # The SDK adds /v1 itself, where OpenAI's form of an address ends with it.
            server_url=address.rstrip("/").removesuffix("/v1"),
            timeout_ms=round(timeout * 1000),
            client=http,
        )

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        limit = self._limit.of(schema)
        try:
            self._client.chat.complete(
                model=self._model,
                messages=_messages(turns),
                response_format=_response_format(schema, "schema_definition") if schema else None,
                max_tokens=limit or UNSET,
            )
        except MistralError as error:
            # Also for a reply that is well: `open_client` does not let the SDK know that it is JSON.
            if error.status_code == 200:
                return self._limit.read(self.name, error.raw_response.content, schema)
            if limit and error.status_code in (400, 422) and self._limit.is_refused(str(error)):
                return self.reply(turns, schema)
            raise translate(self.name, error, error.raw_response) from None
        except httpx2.RequestError as error:
            raise translate(self.name, error) from error
        raise AssertionError("the SDK has taken a reply of no kind apart")

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoLogprobs(f"{self.name} does not tell the probabilities of its tokens.")


def _messages(turns: Sequence[Turn]) -> Any:
    return [{"role": turn.role, "content": turn.content} for turn in turns]


def _response_format(schema: type[BaseModel], key: str) -> Any:
    """`key` is where the schema stands: the SDK has another word for it than the API."""
    form = {"name": schema_name(schema), key: strict_schema(schema), "strict": True}
    return {"type": "json_schema", "json_schema": form}


HOURS = 24


class MistralBatches(BatchJobs, MistralChat):
    """The jobs of a model, which is named with the job and not with each request."""

    def request(self, turns: Sequence[Turn], schema: type[BaseModel] | None) -> dict[str, object]:
        body: dict[str, object] = {"messages": _messages(turns)}
        if schema:
            body["response_format"] = _response_format(schema, "schema")
        if limit := self._limit.of(schema):
            body["max_tokens"] = limit
        return body

    def read(self, body: str | bytes, schema: type[BaseModel] | None) -> Reply:
        return self._limit.read(self.name, body, schema)

    def _upload(self, name: str, content: bytes) -> bytes:
        file = File(file_name=name, content=content)
        return self._told(lambda: self._client.files.upload(file=file, purpose="batch"))

    def _create(self, file: str, metadata: dict[str, str]) -> bytes:
        jobs = self._client.batch.jobs
        return self._told(
            lambda: jobs.create(
                input_files=[file], endpoint=ENDPOINT, model=self._model, metadata=metadata, timeout_hours=HOURS
            )
        )

    def _list(self) -> bytes:
        return self._told(lambda: self._client.batch.jobs.list(page_size=LISTED))

    def _get_job(self, job: str) -> bytes:
        return self._told(lambda: self._client.batch.jobs.get(job_id=job))

    def download(self, file: str) -> bytes:
        return self._told(lambda: self._client.files.download(file_id=file).read())

    def _told(self, call: Callable[[], object]) -> bytes:
        """The reply to a call of the SDK, as it came."""
        try:
            said = call()
        except MistralError as error:
            if error.status_code == 200:  # the SDK does not know that it is JSON: see `open_client`
                return error.raw_response.content
            raise translate(self.name, error, error.raw_response) from None
        except httpx2.RequestError as error:
            raise translate(self.name, error) from error
        assert isinstance(said, bytes), "the SDK has taken a reply of no kind apart"
        return said
