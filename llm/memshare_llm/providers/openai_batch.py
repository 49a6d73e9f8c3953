"""The Batch API of OpenAI, and of servers that have the same."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx2

from memshare_llm.providers.batch_jobs import ENDPOINT, LISTED, BatchJobs
from memshare_llm.providers.openai_chat import OpenAIChat, translated


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
        """A file of replies."""
        return self._told(f"/files/{file}/content")

    def _sent(self, path: str, body: dict[str, object], **more: Any) -> bytes:
        with translated(self.name):
            sent: httpx2.Response = self._client.post(path, cast_to=httpx2.Response, body=body, **more)
            return sent.content

    def _told(self, path: str) -> bytes:
        with translated(self.name):
            return self._get(path)
