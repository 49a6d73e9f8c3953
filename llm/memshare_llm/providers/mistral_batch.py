"""The Batch API of Mistral."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import httpx2
from mistralai.client.errors import MistralError
from mistralai.client.models import File
from pydantic import BaseModel

from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Reply
from memshare_llm.providers.batch_jobs import ENDPOINT, LISTED, BatchJobs
from memshare_llm.providers.http_client import translate
from memshare_llm.providers.mistral_chat import MistralChat
from memshare_llm.providers.reply_limit import schema_name, strict_schema

HOURS = 24


class MistralBatches(BatchJobs, MistralChat):
    """The jobs of a model, which is named with the job and not with each request."""

    def request(self, turns: Sequence[Turn], schema: type[BaseModel] | None) -> dict[str, object]:
        """The body of the request for a reply."""
        body: dict[str, object] = {"messages": [{"role": turn.role, "content": turn.content} for turn in turns]}
        if schema:
            form = {"name": schema_name(schema), "schema": strict_schema(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if limit := self._limit.of(schema):
            body["max_tokens"] = limit
        return body

    def read(self, body: str | bytes, schema: type[BaseModel] | None) -> Reply:
        """The reply in a completion; raises as `read_completion` does."""
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
        """A file of replies."""
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
