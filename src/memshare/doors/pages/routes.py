"""The routes of the pages: who asks is found first, then a screen is shown, or what a form asks for is done."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from itertools import chain
from pkgutil import iter_modules
from types import ModuleType
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi_swagger import resources as swagger_ui
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from memshare.client.errors import NotFound, NoToken, Stale
from memshare.doors import pages
from memshare.doors.entrance import Bodies, Gone
from memshare.doors.pages import screens
from memshare.doors.pages.needs import STARTING, Count, Needs
from memshare.doors.pages.render import labelled, rendered
from memshare.doors.pages.session import (
    came_by_https,
    leave_note,
    require_same_origin,
    sign_in,
    sign_out,
    take_note,
    who_asks,
)
from memshare.doors.pages.stream import Pulse, changes, state_of
from memshare.doors.pages.visit import PAGES, Does, Done, Fields, Screen, Shows, Streamed, Visit, local
from memshare.doors.rest import headers_of, status_of
from memshare.operations.apart import ASKING, at_the_entrance
from memshare.operations.backend import Backend
from memshare.operations.caller import LOCAL_NAME, Caller
from memshare_broker.connection import DOWN, unreachable
from memshare_broker.errors import BadInput, MemshareError, NotYet
from memshare_broker.wire.forms import readable
from memshare_concepts.map import FILES as MAP_FILES

FILES: dict[str, tuple[ModuleType, str]] = {
    "/docs": (pages, "static/docs.html"),
    "/pages/docs.js": (pages, "static/docs.js"),
    "/pages/page.css": (pages, "static/page.css"),
    "/pages/page.js": (pages, "static/page.js"),
    "/pages/htmx.js": (pages, "static/htmx.js"),
    "/pages/chart.js": (pages, "static/chart.js"),
    "/pages/uplot.js": (pages, "static/uplot.js"),
    "/pages/uplot.css": (pages, "static/uplot.css"),
    "/pages/icon.png": (swagger_ui, "favicon-32x32.png"),
    "/pages/swagger-ui.js": (swagger_ui, "swagger-ui-bundle.js"),
    "/pages/swagger-ui.css": (swagger_ui, "swagger-ui.css"),
}
"""Path → the package and the file that is sent; none takes a token."""
SIGN_IN = "/sign-in"
WHO_AGAIN = 10.0  # seconds after which a stream asks again who follows it: the token may be revoked


def page_routes(site: Site) -> list[Route]:
    """All routes of the pages."""
    for module in iter_modules(screens.__path__, f"{screens.__name__}."):
        import_module(module.name)
    made = [_route(path, _sends(str(files(package) / name))) for path, (package, name) in FILES.items()]
    made += [_route(path, _sends(str(file))) for path, file in MAP_FILES.items()]
    made += [_route(path, site.showing(shows)) for path, shows in PAGES.shown.items()]
    made += [_route(path, site.doing(path, does), "POST") for path, does in PAGES.done.items()]
    made += [_route("/pages/stream", site.stream), _route(SIGN_IN, site.ask_for_token)]
    return [*made, _route(SIGN_IN, site.sign_in, "POST"), _route("/sign-out", site.sign_out, "POST")]


def _route(path: str, answers: Callable[[Request], Awaitable[Response]], method: str = "GET") -> Route:
    return Route(path, answers, methods=[method], include_in_schema=False)


def _sends(path: str) -> Callable[[Request], Awaitable[FileResponse]]:
    async def send(_: Request) -> FileResponse:
        return FileResponse(path, headers={"Cache-Control": "no-cache"})

    return send


class Site:
    """Answers people's requests with the functions that answer REST, and with what a page needs beside them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._bodies = Bodies()
        self._pulse = Pulse(backend)
        self._needs = Needs(backend)

    def showing(self, shows: Shows) -> Callable[[Request], Awaitable[Response]]:
        """A handler of requests for a page."""

        async def show(request: Request) -> Response:
            caller = await self._entering(request)
            if isinstance(caller, Response):
                return caller
            return await run_in_threadpool(self._guarded, request, caller, lambda: self._show(request, caller, shows))

        return show

    def doing(self, path: str, does: Does) -> Callable[[Request], Awaitable[Response]]:
        """A handler of a form that is sent."""

        async def do(request: Request) -> Response:
            caller = None
            try:
                require_same_origin(request)
                caller = await at_the_entrance(who_asks, self._backend, request)
                ASKING.set((caller.name, request.is_disconnected))
                given = await self._bodies.fields(request, caller.name, may_all=caller.may_all)
            except (MemshareError, *DOWN) as error:
                return self._refusal(request, error, caller)
            except Gone:
                return Response(status_code=400)

            def answer() -> Response:
                fields = Fields([*request.query_params.multi_items(), *given])
                try:
                    done = does(Visit(self._backend, caller, request.path_params, fields))
                except MemshareError as error:
                    done = self._form_again(request, path, caller, fields, error)
                self._needs.look_again()
                if isinstance(done, Screen):
                    return self._page(request, caller, done)
                return self._turned(request, caller, done)

            return await run_in_threadpool(self._guarded, request, caller, answer)

        return do

    async def stream(self, request: Request) -> Response:
        """The changes of what a page shows; where who asks cannot be looked up for now, that is the first one."""

        looked: list[tuple[float, Caller]] = []

        def asking() -> Caller:
            if not looked or time.monotonic() - looked[-1][0] > WHO_AGAIN:
                with self._backend.reaching():
                    looked[:] = [(time.monotonic(), who_asks(self._backend, request))]
            return looked[-1][1]

        try:
            await run_in_threadpool(asking)
        except MemshareError as error:
            if status_of(error) != 503:
                return Response(str(error), status_of(error), headers_of(error))
        journey = request.query_params.get("journey", "")
        events = changes(
            lambda: self._state(asking(), journey),
            request.query_params.get("seen", ""),
            lambda: self._needs.count(asking()),
            getattr(request.app.state, "is_ending", lambda: False),
        )
        return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def ask_for_token(self, request: Request) -> Response:
        """The page on which a token is typed."""
        return self._page(request, None, Screen("sign_in", {"wrong": "", "to": request.query_params.get("to", "")}))

    async def sign_in(self, request: Request) -> Response:
        """Exchange a token for a session, and go on to where the sign-in was asked for."""
        form = dict[str, str]()
        try:
            require_same_origin(request)
            form |= await self._bodies.fields(request, "who signs in")
            answer = RedirectResponse(local(form.get("to", "")) or "/", 303)
            await at_the_entrance(sign_in, self._backend, request, form.get("token", ""), answer)
        except (MemshareError, *DOWN) as error:
            again = {"wrong": str(error), "to": form.get("to", "")}
            return self._page(request, None, Screen("sign_in", again, status=status_of(error)))
        except Gone:
            return Response(status_code=400)
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End a session."""
        answer = RedirectResponse(SIGN_IN, 303)
        try:
            require_same_origin(request)
            await run_in_threadpool(sign_out, self._backend, request, answer)
        except (MemshareError, *DOWN) as error:
            return self._refusal(request, error)
        return answer

    async def unknown(self, request: Request) -> Response:
        """The page for an address at which there is nothing."""
        caller = await self._entering(request)
        if isinstance(caller, Response):
            return caller
        return await run_in_threadpool(self._refusal, request, NotFound("There is no page at this address."), caller)

    def _guarded(self, request: Request, caller: Caller, answer: Callable[[], Response]) -> Response:
        try:
            return answer()
        except ValidationError as error:
            return self._refusal(request, BadInput(readable(error, "What you filled in")), caller)
        except (MemshareError, *DOWN) as error:
            return self._refusal(request, error, caller)

    async def _entering(self, request: Request) -> Caller | Response:
        """Who asks for a page, or the page that refuses them."""
        try:
            caller = await at_the_entrance(who_asks, self._backend, request)
        except (MemshareError, *DOWN) as error:
            return await at_the_entrance(self._refusal, request, error)
        ASKING.set((caller.name, request.is_disconnected))
        return caller

    def _show(self, request: Request, caller: Caller, shows: Shows) -> Response:
        beat = self._pulse.beat()  # before it is looked at, so that no change is missed
        with self._pulse.showing():
            screen = shows(Visit(self._backend, caller, request.path_params, request.query_params))
            if isinstance(screen, Streamed):
                return _sent(screen)
            return self._page(request, caller, screen if screen.seen else replace(screen, seen=beat))

    def _form_again(self, request: Request, path: str, caller: Caller, sent: Fields, error: MemshareError) -> Screen:
        """The screen that a refused form was on, filled in as it was; raises the error where that is not known."""
        came = urlsplit(request.headers.get("referer", ""))
        shows = PAGES.shown.get(came.path) or PAGES.shown.get(path)
        if shows is None or isinstance(error, Stale):
            raise error
        screen = shows(Visit(self._backend, caller, request.path_params, Fields(parse_qsl(came.query))))
        assert isinstance(screen, Screen)  # nothing that is streamed has a form
        values = {**screen.values, "sent": sent, "refusal": labelled(str(error)), "is_capped": _is_capped(error)}
        return replace(screen, values=values, status=status_of(error))

    def _state(self, caller: Caller, journey: str) -> str:
        """A text that is another one as soon as what a page follows has changed."""
        return state_of(self._backend, caller, journey) if journey else self._pulse.beat()

    def _refusal(self, request: Request, error: Exception, caller: Caller | None = None) -> Response:
        """The page that says what went wrong, with the menu; whoever has to sign in is taken there."""
        if isinstance(error, NoToken) and request.method == "GET":
            to = f"{request.scope['raw_path'].decode()}?{request.url.query}".rstrip("?")
            return RedirectResponse(f"{SIGN_IN}?{urlencode({'to': to})}", 303)
        said = str(unreachable(self._backend.settings.redis, error)) if isinstance(error, DOWN) else str(error)
        is_starting = getattr(error, "reason", "") == "store" and self._backend.is_starting
        values = {"said": STARTING if is_starting else said, "is_starting": is_starting}
        values |= {"comes_back": status_of(error) in (429, 503), "was_shown": request.method == "GET"}
        values |= {"is_missing": isinstance(error, NotFound), "is_capped": _is_capped(error)}
        came = urlsplit(request.headers.get("referer", ""))  # of this site alone: Referrer-Policy
        values["back"] = local(f"{came.path}?{came.query}")
        values["changed"] = request.path_params["id"] if isinstance(error, Stale) else ""
        who = None if status_of(error) == 503 and not is_starting else caller
        page = self._page(request, who, Screen("refusal", values, status=status_of(error)))
        page.headers.update(headers_of(error))
        return page

    def _page(self, request: Request, caller: Caller | None, screen: Screen) -> Response:
        note = take_note(self._backend, caller, request) if caller else None
        counted = self._needs.count(caller) if caller else Count()
        follows = urlencode({"journey": screen.watches, "seen": screen.seen})
        html = rendered(
            screen.template,
            **{"sent": Fields(), "refusal": "", "is_capped": False, **screen.values},
            path=request.url.path,
            url=f"{request.url.path}?{request.url.query}",
            who=caller,
            is_local=caller is not None and caller.name == LOCAL_NAME,
            stream=f"/pages/stream?{follows}" if caller and request.method == "GET" else "",
            inbox=counted.number,
            fault=counted.away,
            note=note,
        )
        return HTMLResponse(html, screen.status, headers={"Cache-Control": "no-store"})

    def _turned(self, request: Request, caller: Caller, done: Done) -> Response:
        """On to the page after a form, which says what was done."""
        answer = RedirectResponse(done.to, 303)
        if done.said:
            note = {"said": done.said, "undo": done.undo}
            leave_note(self._backend, caller, answer, note, secure=came_by_https(request))
        return answer


def _is_capped(error: Exception) -> bool:
    return isinstance(error, NotYet) and error.hold.startswith(("agent ", "submitter "))


def _sent(sends: Streamed) -> Response:
    """A response that is sent line by line."""
    first = next(sends.lines, "")
    headers = {"Content-Disposition": f'attachment; filename="{sends.name}"'} if sends.name else {}
    headers["Cache-Control"] = "no-store"
    return StreamingResponse(chain([first], sends.lines), media_type=sends.media_type, headers=headers)
