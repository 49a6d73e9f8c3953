"""The pages for a browser: what there is, and Swagger UI, which a package brings with everything that it loads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from types import ModuleType

from fastapi_swagger import resources as swagger_ui
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from memshare.doors import pages

PAGES = {
    "/": (pages, "index.html"),
    "/docs": (pages, "docs.html"),
    "/pages/docs.js": (pages, "docs.js"),
    "/pages/style.css": (pages, "style.css"),
    "/pages/icon.png": (swagger_ui, "favicon-32x32.png"),
    "/pages/swagger-ui.js": (swagger_ui, "swagger-ui-bundle.js"),
    "/pages/swagger-ui.css": (swagger_ui, "swagger-ui.css"),
}
"""Path → the package and the file that is shown."""


def page_routes() -> list[Route]:
    """A route for each page; none takes a token."""
    return [Route(path, _shows(package, name), include_in_schema=False) for path, (package, name) in PAGES.items()]


def _shows(package: ModuleType, name: str) -> Callable[[Request], Awaitable[FileResponse]]:
    path = str(files(package) / name)

    async def show(_: Request) -> FileResponse:
        return FileResponse(path, headers={"Cache-Control": "no-cache"})

    return show
