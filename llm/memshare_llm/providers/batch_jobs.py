"""Jobs of a Batch API, as OpenAI and Mistral have them: a file of requests, a job, and files of replies."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from memshare_broker.errors import GiveUp
from memshare_broker.observe.safe_text import masked
from memshare_llm.chat import BatchJob
from memshare_llm.providers.http_client import MAX_WORDS

T = TypeVar("T", bound=BaseModel)

ENDPOINT: Final = "/v1/chat/completions"
ENDED = frozenset({"completed", "failed", "expired", "cancelled", "SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"})
NAME = "memshare"  # in a job's metadata: its name
LISTED = 100  # jobs, the newest


class _Made(BaseModel):
    id: str


class _Job(BaseModel):
    id: str
    status: str
    replies: str | None = Field(default=None, validation_alias=AliasChoices("output_file_id", "output_file"))
    errors: str | None = Field(default=None, validation_alias=AliasChoices("error_file_id", "error_file"))
    metadata: Any = None


class _Jobs(BaseModel):
    data: list[_Job] | None = None


class BatchJobs(ABC):
    """The jobs of a model, as a `BatchApi` has them; each has a name of ours, by which it is found."""

    name: str
    _of_each: ClassVar[Mapping[str, str]] = {}
    """Fields of each line of requests."""

    def submit(self, name: str, requests: Mapping[str, object]) -> str:
        lines = [json.dumps({"custom_id": call, "body": body, **self._of_each}) for call, body in requests.items()]
        file = self._read(_Made, self._upload(f"{name}.jsonl", "\n".join(lines).encode())).id
        return self._read(_Made, self._create(file, {NAME: name})).id

    def find(self, name: str) -> str | None:
        jobs = self._read(_Jobs, self._list()).data or ()
        return next((one.id for one in jobs if isinstance(one.metadata, dict) and one.metadata.get(NAME) == name), None)

    def job(self, job: str) -> BatchJob:
        found = self._read(_Job, self._get_job(job))
        return BatchJob(found.status in ENDED, found.status, tuple(filter(None, (found.replies, found.errors))))

    def _read(self, form: type[T], body: bytes) -> T:
        try:
            return form.model_validate_json(body)
        except ValidationError as error:
            raise GiveUp(f"{self.name} does not speak the Batch API: {masked(str(error))[:MAX_WORDS]}") from None

    @abstractmethod
    def _upload(self, name: str, content: bytes) -> bytes: ...

    @abstractmethod
    def _create(self, file: str, metadata: dict[str, str]) -> bytes: ...

    @abstractmethod
    def _list(self) -> bytes: ...

    @abstractmethod
    def _get_job(self, job: str) -> bytes: ...
