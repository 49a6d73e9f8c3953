from __future__ import annotations

import html
import json
import re
from urllib.parse import quote, urlencode

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.doors.pages.session import COOKIE, NOTE, SESSION
from memshare.doors.server import rest_app
from memshare.operations.backend import WRONG_TOKENS, Backend

ELSEWHERE = "http://memshare.example"
FORM = {"Origin": ELSEWHERE, "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def elsewhere(backend: Backend) -> TestClient:
    """Somebody's browser on another machine."""
    return TestClient(
        rest_app(backend), base_url=ELSEWHERE, client=("192.0.2.7", 50_000), follow_redirects=False, headers=FORM
    )


def test_a_token_becomes_a_session_that_ends_with_it(elsewhere: TestClient, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    assert elsewhere.get("/now").headers["location"] == "/sign-in?to=%2Fnow"

    answer = elsewhere.post("/sign-in", content=f"token={token}")
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert elsewhere.get("/now").status_code == 200

    backend.tokens.revoke("ada")
    backend.tokens.create("ada", ("admin",), None)
    assert elsewhere.get("/now").headers["location"] == "/sign-in?to=%2Fnow"


def test_who_signs_in_goes_on_to_where_they_were_going(elsewhere: TestClient, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    asked = elsewhere.get("/journeys/a%25b?memories=1&x=%26").headers["location"]
    form = elsewhere.get(asked).text
    to = html.unescape(re.findall(r'name="to" value="([^"]*)"', form)[0])

    wrong = elsewhere.post("/sign-in", content=urlencode({"token": "msh_ada_x", "to": to})).text
    right = elsewhere.post("/sign-in", content=urlencode({"token": token, "to": to}))

    assert f'name="to" value="{html.escape(to)}"' in wrong
    assert right.headers["location"] == "/journeys/a%25b?memories=1&x=%26"


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "/\\evil.example", "evil.example", "javascript:alert(1)", ""]
)
def test_who_signs_in_is_sent_to_no_other_site(elsewhere: TestClient, backend: Backend, to: str) -> None:
    token = backend.tokens.create("ada", ("recall",), None)

    assert elsewhere.post("/sign-in", content=urlencode({"token": token, "to": to})).headers["location"] == "/"


@pytest.mark.parametrize("to", ["/\t/evil.example", "/\r\n/evil.example"])
def test_what_a_browser_would_leave_out_of_an_address_stays_in_it(
    elsewhere: TestClient, backend: Backend, to: str
) -> None:
    token = backend.tokens.create("ada", ("recall",), None)

    assert elsewhere.post("/sign-in", content=urlencode({"token": token, "to": to})).headers["location"][:2] == "/%"


def test_redis_has_neither_the_token_nor_the_cookie(
    elsewhere: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    elsewhere.post("/sign-in", content=f"token={token}")

    [key] = redis_client.scan_iter(f"{SESSION}*")
    kept = str(redis_client.get(key))
    assert token not in kept
    assert elsewhere.cookies[COOKIE] not in f"{key}{kept}"
    assert 0 < redis_client.ttl(key) <= 12 * 3_600


def test_a_session_that_was_ended_is_worth_nothing(elsewhere: TestClient, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    elsewhere.post("/sign-in", content=f"token={token}")
    cookie = elsewhere.cookies[COOKIE]

    elsewhere.post("/sign-out")

    elsewhere.cookies.set(COOKIE, cookie)
    assert elsewhere.get("/now").headers["location"] == "/sign-in?to=%2Fnow"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_a_token_that_a_page_of_another_site_sends_is_not_taken(
    elsewhere: TestClient, backend: Backend, origin: str
) -> None:
    token = backend.tokens.create("ada", ("recall",), None)

    answer = elsewhere.post("/sign-in", content=f"token={token}", headers={"Origin": origin})

    assert answer.status_code == 403
    assert COOKIE not in elsewhere.cookies


def test_a_session_by_https_has_a_cookie_that_no_other_port_can_set(backend: Backend, shelf: dict[str, str]) -> None:
    assert shelf
    token = backend.tokens.create("ada", ("curate", "recall"), None)
    secure = "https://memshare.example"
    browser = TestClient(
        rest_app(backend), base_url=secure, client=("192.0.2.7", 50_000), follow_redirects=False,
        headers={**FORM, "Origin": secure},
    )  # fmt: skip

    answer = browser.post("/sign-in", content=f"token={token}")
    assert answer.headers["set-cookie"].startswith(f"__Host-{COOKIE}=")
    assert "Secure" in answer.headers["set-cookie"]
    assert browser.get("/now").status_code == 200

    value = browser.cookies[f"__Host-{COOKIE}"]
    browser.cookies.clear()
    browser.cookies.set(COOKIE, value)
    assert browser.get("/now").headers["location"] == "/sign-in?to=%2Fnow"


def test_by_https_a_session_that_began_by_http_counts_for_nothing(elsewhere: TestClient, backend: Backend) -> None:
    token, by_https = backend.tokens.create("ada", ("recall",), None), {"X-Forwarded-Proto": "https"}
    elsewhere.post("/sign-in", content=f"token={token}", headers=by_http(elsewhere))
    assert elsewhere.get("/now").status_code == 200

    assert elsewhere.get("/now", headers=by_https).headers["location"] == "/sign-in?to=%2Fnow"
    refused = elsewhere.post("/sign-in", content=f"token={token}", headers=by_http(elsewhere) | by_https)
    assert refused.status_code == 403


def by_http(client: TestClient) -> dict[str, str]:
    return {"Origin": str(client.base_url).rstrip("/").replace("https:", "http:")}


PLANTED = json.dumps({"said": "The memory was changed.", "undo": "/access/ada/revoke"})


@pytest.mark.parametrize("note", [PLANTED, quote(PLANTED), "[" * 6_000, "x"])
def test_what_a_page_says_of_the_last_form_comes_from_no_cookie(
    elsewhere: TestClient, backend: Backend, note: str
) -> None:
    elsewhere.post("/sign-in", content=f"token={backend.tokens.create('ada', ('admin',), None)}")

    answer = elsewhere.get("/now", headers={"Cookie": f"{COOKIE}={elsewhere.cookies[COOKIE]}; {NOTE}={note}"})

    assert answer.status_code == 200
    assert "/access/ada/revoke" not in answer.text
    assert "The memory was changed." not in answer.text


def test_what_a_form_did_is_said_once_and_to_who_sent_it_alone(
    elsewhere: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    token, other = (backend.tokens.create(name, ("admin",), None) for name in ("ada", "bob"))
    assert shelf
    said = 'class="notice good"'

    def trust(name: str) -> str:
        elsewhere.cookies.clear()
        elsewhere.post("/sign-in", content=f"token={name}")
        return elsewhere.post("/submitters/logic", content="submitter=eve&said=trust").headers["set-cookie"]

    note = re.search(rf"{NOTE}=([^;]+)", trust(token))
    assert note is not None
    assert "eve" not in note[1]
    elsewhere.cookies.clear()
    elsewhere.post("/sign-in", content=f"token={other}")
    elsewhere.cookies.set(NOTE, note[1])
    assert said not in elsewhere.get("/now").text, "it is another's"

    trust(token)
    assert [said in elsewhere.get("/now").text for _ in range(2)] == [True, False]


def test_a_form_of_too_many_fields_is_refused(elsewhere: TestClient, backend: Backend) -> None:
    assert elsewhere.post("/sign-in", content="a=1&" * 3_000).status_code == 422

    elsewhere.post("/sign-in", content=f"token={backend.tokens.create('ada', ('admin',), None)}")
    assert elsewhere.post("/access", content="a=1&" * 3_000).status_code == 422


@pytest.mark.parametrize("origin", [f"ftp://{ELSEWHERE[7:]}", f"//{ELSEWHERE[7:]}", f"{ELSEWHERE}/", "https://"])
def test_the_whole_origin_counts(elsewhere: TestClient, origin: str) -> None:
    assert elsewhere.post("/sign-in", content="token=x", headers={"Origin": origin}).status_code == 403


def test_who_tries_many_wrong_tokens_waits_and_nobody_else(elsewhere: TestClient, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall",), None)

    tried = [elsewhere.post("/sign-in", content="token=msh_ada_x").status_code for _ in range(WRONG_TOKENS + 1)]
    assert tried == [401] * WRONG_TOKENS + [429]
    assert elsewhere.get("/v1/pools", headers={"Authorization": "Bearer msh_ada_x"}).status_code == 429
    assert elsewhere.get("/v1/pools", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert elsewhere.post("/sign-in", content=f"token={token}").status_code == 303


def test_nobody_keeps_a_reply_and_behind_https_it_stays_https(elsewhere: TestClient, backend: Backend) -> None:
    bearer = {"Authorization": f"Bearer {backend.tokens.create('ada', ('recall',), None)}"}

    plain = elsewhere.get("/v1/pools", headers=bearer)
    behind = elsewhere.get("/sign-in", headers={"X-Forwarded-Proto": "https"})

    assert plain.headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in plain.headers
    assert behind.headers["strict-transport-security"]


def test_who_may_do_everything_sees_and_ends_the_sessions_of_a_token(elsewhere: TestClient, backend: Backend) -> None:
    token, root = (backend.tokens.create(name, ("admin",), None) for name in ("ada", "root"))
    elsewhere.post("/sign-in", content=f"token={token}")
    stolen = elsewhere.cookies[COOKIE]
    elsewhere.cookies.clear()
    elsewhere.post("/sign-in", content=f"token={root}")

    assert "End 1 session" in elsewhere.get("/access").text
    assert elsewhere.post("/access/ada/sign-out").status_code == 303

    assert elsewhere.get("/access").status_code == 200
    elsewhere.cookies.clear()
    elsewhere.cookies.set(COOKIE, stolen)
    assert elsewhere.get("/now").headers["location"] == "/sign-in?to=%2Fnow"


def test_who_comes_through_a_proxy_that_sends_their_token_needs_no_sign_in(backend: Backend) -> None:
    token = backend.tokens.create("ada", ("admin",), None)
    proxied = TestClient(
        rest_app(backend), base_url=ELSEWHERE, client=("127.0.0.1", 50_000), follow_redirects=False,
        headers={"X-Forwarded-Proto": "https", "X-Auth-Request-Email": "root@example.org"},
    )  # fmt: skip
    own = {"Authorization": f"Bearer {token}"}
    form = FORM | {"Origin": ELSEWHERE.replace("http:", "https:")}

    shown = proxied.get("/access", headers=own)
    assert (shown.status_code, "set-cookie" in shown.headers) == (200, False)
    assert "<bdi>ada</bdi>" in shown.text
    assert proxied.post("/access/ada/sign-out", headers=own | form).status_code == 303
    assert (
        proxied.post("/access/ada/sign-out", headers=own | form | {"Origin": "https://evil.example"}).status_code == 403
    )
    for nobody in ({}, {"Authorization": "Bearer "}):
        assert proxied.get("/access", headers=nobody).headers["location"] == "/sign-in?to=%2Faccess"
