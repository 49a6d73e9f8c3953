"""mem0's library behind FastAPI, as mem0's own server has it, in a process of its own: for `benchmarks.doors`.

`python -m benchmarks.mem0_door FOLDER --memories 10000` fills mem0 with made-up memories, prints its address and serves
`POST /search`. Its embedder is the encoder that our memory service has; its store is its default, Qdrant's local mode.
"""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.mem0_store import Mem0
from benchmarks.synthetic import Synthetic
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.encoders.shared_batches import SharedBatches

BATCH = 500


class Search(BaseModel):
    """What is asked, in mem0's words."""

    query: str
    user_id: str
    top_k: int = 3


def main(
    folder: Annotated[Path, typer.Argument(help="Where mem0 keeps its data.")],
    memories: Annotated[int, typer.Option(min=1)] = 10_000,
    exports: Annotated[Path | None, typer.Option(help="Folder with the exported encoder.")] = None,
) -> None:
    """Fill mem0 and serve it until the process is ended."""
    world = Synthetic()
    with closing(Mem0(folder, {})) as mem0, socket.create_server(("127.0.0.1", 0)) as listening:
        for start in range(0, memories, BATCH):
            mem0.fill(world.memories(min(BATCH, memories - start)))
        mem0.embed_with(SharedBatches(open_encoder(None, device="cpu", timeout=60, exports=exports or folder)))
        app = FastAPI()

        @app.post("/search")
        def search(asked: Search) -> dict[str, list[Any]]:
            return {"results": mem0.search_text(asked.user_id, asked.query, asked.top_k)}

        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


if __name__ == "__main__":
    typer.run(main)
