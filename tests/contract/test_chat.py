"""One suite over every chat model: the real ones talk to a server on loopback, over a real connection."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Annotated, Any

import pytest
from pydantic import Field, create_model

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.settings_file import PROVIDERS, VARIABLES
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat, NoLogprobs, UselessReply
from memshare_llm.completion import MAX_TEXT
from memshare_llm.models import open_chat
from memshare_llm.providers.http_client import MAX_REPLY_BYTES
from memshare_llm.structured import DoesNotFit, ask
from tests.support.chat_script import Answer, Script, in_turn, well
from tests.support.chat_server import ChatServer, serving
from tests.support.deployment import patient

ASKED = (Turn(role="system", content="Be brief."), Turn(role="user", content="Write about the sea."))


def a_range(points: int) -> Any:
    bounded = Annotated[float, Field(ge=0, le=points)]
    return create_model(f"UpTo{points}", low=(bounded, ...), high=(bounded, ...))


Grades = create_model("Grades of a poem", rhyme=(a_range(40), ...), wit=(a_range(60), ...))

FITTING = '{"rhyme": {"low": 1.0, "high": 40.0}, "wit": {"low": 1.0, "high": 2.0}}'

Open = Callable[..., tuple[Chat, ChatServer]]


def message_of(message: dict[str, Any], finish_reason: str = "stop", **usage: object) -> Answer:
    """A completion with this very message and usage."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant"} | message}
    return Answer(raw=json.dumps({"choices": [choice], "usage": usage}).encode())


def limit_of(body: dict[str, Any]) -> int | None:
    """The limit of tokens in a request, by either of its names."""
    limit: int | None = body.get("max_completion_tokens", body.get("max_tokens"))
    return limit


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in VARIABLES:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return monkeypatch


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def open_(provider: str, environment: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a real chat model on a server that follows a script."""
    with ExitStack() as servers:

        def open_on(script: Script, timeout: float = 10, connections: int = 4) -> tuple[Chat, ChatServer]:
            server = servers.enter_context(serving(script))
            environment.setenv(f"{provider.upper()}_BASE_URL", server.url)
            chat = open_chat(f"{provider}:small", timeout=timeout, connections=connections)
            return chat, server

        yield open_on


@pytest.mark.parametrize("name", ["openai:small", "mistral:small"])
def test_a_plain_reply_has_text_and_the_models_name(name: str, environment: pytest.MonkeyPatch) -> None:
    with serving() as server:
        environment.setenv("OPENAI_BASE_URL", server.url)
        environment.setenv("MISTRAL_BASE_URL", server.url)
        chat = open_chat(name, timeout=10, connections=1)

        reply, again = chat.reply(ASKED), chat.reply(ASKED)

    assert reply.text.strip()
    assert reply.model == chat.name == name
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.completion_tokens > 0
    assert again == reply


def test_a_request_carries_the_turns_and_leaves_sampling_to_the_model(open_: Open) -> None:
    chat, server = open_(well)

    reply = chat.reply((*ASKED, Turn(role="assistant", content="Blue."), Turn(role="user", content="Longer.")))

    (body,) = server.requests
    assert reply.text == "Reply to: Longer."
    assert body["model"] == "small"
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        ("system", "Be brief."),
        ("user", "Write about the sea."),
        ("assistant", "Blue."),
        ("user", "Longer."),
    ]
    assert not body.keys() & {"temperature", "max_tokens", "max_completion_tokens", "response_format"}


def test_absent_usage_counts_as_zero(open_: Open) -> None:
    chat, _ = open_(lambda _body: Answer(text="Well.", usage=False))

    reply = chat.reply(ASKED)

    assert reply.text == "Well."
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (0, 0)


def test_the_reasoning_of_a_model_is_not_part_of_its_answer(open_: Open) -> None:
    raw = (
        b'{"id": "1", "object": "chat.completion", "created": 1, "model": "small", "usage": {}, "choices": '
        b'[{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ['
        b'{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, '
        b'{"type": "text", "text": "Blue."}]}}]}'
    )
    chat, _ = open_(lambda _body: Answer(raw=raw))

    assert chat.reply(ASKED).text == "Blue."


def test_a_structured_reply_fits_its_schema(open_: Open) -> None:
    chat, server = open_(well)

    structured = ask(chat, ASKED, Grades)

    (body,) = server.requests
    sent = body["response_format"]["json_schema"]
    assert structured.value.model_dump() == {"rhyme": {"low": 36, "high": 36}, "wit": {"low": 54, "high": 54}}
    assert structured.model == chat.name
    assert structured.usage.completion_tokens > 0
    assert body["response_format"]["type"] == "json_schema"
    assert sent["strict"] is True
    assert sent["name"] == "Grades_of_a_poem"
    assert sent["schema"]["required"] == ["rhyme", "wit"]
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["$defs"]["UpTo40"]["properties"]["low"]["maximum"] == 40
    assert sent["schema"]["$defs"]["UpTo40"]["required"] == ["low", "high"]
    assert sent["schema"]["$defs"]["UpTo40"]["additionalProperties"] is False


def test_a_reply_that_does_not_fit_goes_back_once_with_the_reason(open_: Open) -> None:
    wrong = '{"rhyme": {"low": 1, "high": 41}, "wit": {"low": 1, "high": 2}}'
    right = '```json\n{"rhyme": {"low": 1, "high": 40}, "wit": {"low": 1, "high": 2}}\n```'
    chat, server = open_(in_turn(Answer(text=wrong), Answer(text=right)))

    structured = ask(chat, ASKED, Grades)

    first, second = server.requests
    assert structured.value.model_dump()["rhyme"] == {"low": 1, "high": 40}
    assert second["messages"][:2] == first["messages"]
    assert [turn["role"] for turn in second["messages"][2:]] == ["assistant", "user"]
    assert second["messages"][2]["content"] == wrong
    assert "rhyme.high: Input should be less than or equal to 40" in second["messages"][3]["content"]
    assert second["response_format"] == first["response_format"]
    assert structured.usage.completion_tokens == len(wrong.split()) + len(right.split())


def test_the_same_misfit_twice_is_given_up_and_another_one_tried_again(open_: Open) -> None:
    chat, server = open_(lambda _body: Answer(text="I would say 90."))
    replies = in_turn(Answer(text="I would say 90."), Answer(text='{"rhyme": 1}'))
    other, _ = open_(replies)

    with pytest.raises(DoesNotFit, match=r"did not fit: the reply: Invalid JSON") as caught:
        ask(chat, ASKED, Grades)
    with pytest.raises(DoesNotFit) as caught_other:
        ask(other, ASKED, Grades)

    assert isinstance(caught.value, GiveUp)
    assert isinstance(caught_other.value, TryAgain)
    assert caught_other.value.wait is None
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        f'<think>\nA draft: {{"rhyme": 1}}.\n</think>\n{FITTING}',
        f"Let me see.</think>{FITTING}",
        f"Here it is:\n\n{FITTING}\n\nI hope that helps {{:}}",
        f'For instance {{"low": 1, "high": 2}}. Mine is:\n```json\n{FITTING}\n```\nAs asked.',
        f"```\n{FITTING}\n```",
    ],
)
def test_json_is_found_where_it_stands(open_: Open, reply: str) -> None:
    chat, server = open_(lambda _body: Answer(text=reply))

    assert ask(chat, ASKED, Grades).value.model_dump_json() == FITTING.replace(" ", "")
    assert len(server.requests) == 1


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_json_is_found_in_the_reasoning_where_the_answer_is_empty(open_: Open, field: str) -> None:
    message = {"role": "assistant", "content": None, field: f"Hm. So: {FITTING}"}
    chat, server = open_(lambda _body: message_of(message))

    assert ask(chat, ASKED, Grades).value.model_dump_json() == FITTING.replace(" ", "")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>\nI copy example 2.\n</think>\n\nSELECT 1"},
        {"content": "I copy example 2.\n</think>\n\nSELECT 1"},
        {"content": "SELECT 1", "reasoning_content": "I copy example 2."},
        {"content": "SELECT 1", "reasoning": "I copy example 2.", "reasoning_content": "I copy example 2."},
        {"content": [{"type": "thinking", "thinking": "I copy example 2."}, {"type": "text", "text": "SELECT 1"}]},
        {"content": [{"type": "reasoning", "text": "I copy example 2."}, {"text": "SELECT 1"}]},
    ],
)
def test_thinking_is_no_answer_and_is_counted(open_: Open, message: dict[str, Any]) -> None:
    chat, _ = open_(lambda _body: message_of(message, completion_tokens=25))

    reply = chat.reply(ASKED)

    assert (reply.text, reply.reasoning) == ("SELECT 1", "I copy example 2.")
    assert reply.usage.reasoning_tokens == math.ceil(25 * 17 / 25)


def test_tokens_that_were_cached_or_spent_on_reasoning_are_read(open_: Open) -> None:
    usage = {
        "prompt_tokens": 9_000,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 8_500},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    chat, _ = open_(lambda _body: message_of({"content": "Blue."}, **usage))

    used = chat.reply(ASKED).usage

    assert (used.prompt_tokens, used.cached_tokens) == (9_000, 8_500)
    assert (used.completion_tokens, used.reasoning_tokens) == (30, 20)


def test_a_model_that_spent_all_on_reasoning_is_told_as_such(open_: Open) -> None:
    message = {"content": "", "reasoning": "Hm. " * 1_000}
    details = {"reasoning_tokens": 4_000}
    answer = message_of(message, "length", completion_tokens=4_000, completion_tokens_details=details)
    chat, _ = open_(lambda _body: answer)

    with pytest.raises(TryAgain, match=r"spent all tokens of its limit on reasoning \(4,000\)"):
        chat.reply(ASKED)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('"caf\\ud83c"', "caf\ufffd"),
        ('"caf \\ud83c\\udf78 ok"', "caf 🍸 ok"),
        ('[{"text": "caf \\ud83c"}, {"text": "\\udf78 ok"}]', "caf 🍸 ok"),
        ('"\\udf78\\ud83c ok"', "\ufffd\ufffd ok"),
        (b'"caf\xe9"', "caf\ufffd"),
    ],
)
def test_bytes_that_are_no_text_are_replaced_and_not_paid_for_again(
    open_: Open, content: str | bytes, text: str
) -> None:
    written = content if isinstance(content, bytes) else content.encode()
    raw = b'{"choices": [{"message": {"content": ' + written + b'}}], "usage": {"prompt_tokens": 7}}'
    chat, _ = open_(lambda _body: Answer(raw=raw))

    reply = chat.reply(ASKED)

    assert reply.text == text
    assert reply.usage.prompt_tokens == 7


@pytest.mark.parametrize(
    "raw",
    [
        b'{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}',
        b'{"choices": [{"message": 5}], "usage": {"completion_tokens": 3, "prompt_tokens": 7}}',
        b'{"usage": {"prompt_tokens" : 7, "completion_tokens": 3}, "choices": [{"message": {"content": "Bl',
    ],
)
def test_usage_is_told_whatever_the_body_is(open_: Open, raw: bytes) -> None:
    chat, _ = open_(lambda _body: Answer(raw=raw))

    with pytest.raises(UselessReply, match="no chat completion") as caught:
        chat.reply(ASKED)

    assert (caught.value.usage.prompt_tokens, caught.value.usage.completion_tokens) == (7, 3)


@pytest.mark.parametrize("text", ["\u200b", "\ufeff\u2060 \u00ad", "\u3164\n", "\u2800\x00"])
def test_invisible_characters_alone_are_an_empty_reply(open_: Open, text: str) -> None:
    chat, _ = open_(lambda _body: Answer(text=text))

    with pytest.raises(TryAgain, match="empty reply"):
        chat.reply(ASKED)


def test_a_structured_reply_has_a_limit_of_tokens_that_fits_its_schema(open_: Open) -> None:
    chat, server = open_(well)

    ask(chat, ASKED, Grades)

    limit = limit_of(server.requests[0])
    assert limit is not None
    assert 4 * len(FITTING) < limit < 1_000


def test_a_model_that_reasons_is_given_more_room(open_: Open) -> None:
    chat, server = open_(in_turn(Answer(text=f"<think>Hm.</think>{FITTING}"), Answer(text=FITTING)))

    ask(chat, ASKED, Grades)
    ask(chat, ASKED, Grades)

    first, second = (limit_of(body) or 0 for body in server.requests)
    assert second >= first + 5_000


def test_a_server_that_refuses_the_limit_is_asked_without_it(open_: Open) -> None:
    def script(body: dict[str, Any]) -> Answer:
        refused = limit_of(body) is not None
        return Answer(status=400, text="Unsupported parameter: 'max_tokens'") if refused else well(body)

    chat, server = open_(script)

    ask(chat, ASKED, Grades)
    ask(chat, ASKED, Grades)

    assert [limit_of(body) is not None for body in server.requests] == [True, False, False]


def test_a_reply_that_is_cut_off_in_white_space_is_not_asked_for_again(open_: Open) -> None:
    chat, server = open_(lambda _body: Answer(text='{"rhyme": [' + " " * 60_000, finish_reason="length"))

    with pytest.raises(GiveUp, match="white space"):
        ask(chat, ASKED, Grades)

    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_the_likeliest_first_tokens_come_with_their_probabilities(open_: Open) -> None:
    logprobs = {"No": math.log(0.75), " yes": math.log(0.2), "Perhaps": -9999.0, "Never": 1e-7}
    chat, server = open_(lambda _body: Answer(text="No", finish_reason="length", logprobs=logprobs))

    first = chat.first_token(ASKED)

    (body,) = server.requests
    assert first.probabilities == pytest.approx({"No": 0.75, " yes": 0.2, "Perhaps": 0, "Never": 1})
    assert first.model == chat.name
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (6, 1)
    assert (body["logprobs"], body["top_logprobs"], body["max_completion_tokens"]) == (True, 20, 1)
    assert [turn["content"] for turn in body["messages"]] == ["Be brief.", "Write about the sea."]


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
@pytest.mark.parametrize("status", [400, 403, 422])
def test_a_model_that_refuses_logprobs_says_so_and_still_replies(open_: Open, status: int) -> None:
    def script(body: dict[str, Any]) -> Answer:
        return Answer(status=status, text="no logprobs here") if "logprobs" in body else Answer()

    chat, _ = open_(script)

    with pytest.raises(NoLogprobs, match=r"openai:small .*no logprobs here"):
        chat.first_token(ASKED)

    assert chat.reply(ASKED).text == "Reply to: Write about the sea."


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
@pytest.mark.parametrize(
    "logprobs",
    [
        "null",
        '{"content": null}',
        '{"content": []}',
        '{"content": [{"token": "No", "logprob": -0.1, "top_logprobs": []}]}',
        '{"content": [{"token": "No", "logprob": -0.1, "top_logprobs": [{"token": "No", "logprob": null}]}]}',
        '{"tokens": ["No"], "token_logprobs": [-0.1]}',
    ],
)
def test_a_server_that_ignores_the_wish_for_logprobs_is_found_out(open_: Open, logprobs: str) -> None:
    raw = f'{{"choices": [{{"message": {{"content": "No"}}, "finish_reason": "length", "logprobs": {logprobs}}}]}}'
    chat, _ = open_(lambda _body: Answer(raw=raw.encode()))

    with pytest.raises(NoLogprobs, match="openai:small replied without log-probabilities"):
        chat.first_token(ASKED)


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
@pytest.mark.parametrize(
    ("answer", "raised", "words"),
    [
        (Answer(status=429, text="slow down", headers={"Retry-After": "7"}), TryAgain, "429: slow down"),
        (Answer(status=500, text="oops"), TryAgain, "500: oops"),
        (Answer(raw=b"}{ garbage"), TryAgain, "no chat completion"),
        (Answer(cut=True), TryAgain, "hung up"),
        (Answer(status=401, text="bad key"), GiveUp, "401: bad key"),
        (Answer(refusal="I would rather not."), GiveUp, "refused: I would rather not"),
        (Answer(finish_reason="content_filter"), GiveUp, "its content filter"),
    ],
)
def test_any_other_fault_says_nothing_about_logprobs(
    open_: Open, answer: Answer, raised: type[Exception], words: str
) -> None:
    chat, server = open_(lambda _body: answer)

    with pytest.raises(raised, match=words) as caught:
        chat.first_token(ASKED)

    assert not isinstance(caught.value, NoLogprobs)
    assert getattr(caught.value, "wait", None) == (7 if answer.headers else None)
    assert len(server.requests) == 1


def test_a_provider_without_logprobs_is_not_even_asked(environment: pytest.MonkeyPatch) -> None:
    with serving() as server:
        environment.setenv("MISTRAL_BASE_URL", server.url)

        with pytest.raises(NoLogprobs):
            open_chat("mistral:small", timeout=10, connections=1).first_token(ASKED)

        assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=429, text="slow down"), "429: slow down"),
        (Answer(status=500, text="oops"), "500: oops"),
        (
            Answer(status=503, raw=b"<html>busy</html>", headers={"Content-Type": "text/html"}),
            "503: <html>busy",
        ),
        (Answer(status=408), "408"),
        (Answer(status=409), "409"),
        (Answer(text="half a", finish_reason="length"), "cut off"),
        (Answer(text="  \n"), "empty reply"),
        (Answer(cut=True), "hung up"),
        (Answer(raw=b"}{ garbage"), "no chat completion"),
        (Answer(raw=b"}{", headers={"Content-Type": "text/plain"}), "no chat completion"),
        (Answer(raw=b'{"choices": []}'), "no chat completion: choices"),
        (Answer(raw=b'{"error": {"message": "no room"}}'), "no chat completion"),
    ],
)
def test_what_may_pass_is_tried_again(open_: Open, answer: Answer, words: str) -> None:
    chat, server = open_(lambda _body: answer)

    with pytest.raises(TryAgain, match=words) as caught:
        chat.reply(ASKED)

    assert chat.name in str(caught.value)
    assert caught.value.wait is None
    assert len(server.requests) == 1, "the queue retries, not the SDK"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=400, text="too long a prompt"), "400: too long a prompt"),
        (Answer(status=401, text="bad key"), "401: bad key"),
        (Answer(status=403, text="not for you"), "403: not for you"),
        (
            Answer(status=404, text="The model 'small' does not exist"),
            "404: The model 'small' does not exist",
        ),
        (Answer(status=422, raw=b'{"detail": [{"loc": [], "msg": "no", "type": "t"}]}'), "422: .*no"),
        (Answer(status=429, text="no credit", code="insufficient_quota"), "429: no credit .*billing"),
        (Answer(text="", finish_reason="content_filter"), "refused: its content filter"),
        (Answer(text="x" * (MAX_TEXT + 1)), "200,001 characters"),
        (Answer(raw=b" " * (MAX_REPLY_BYTES + 1)), "8,000,000 bytes"),
    ],
)
def test_what_never_will_pass_is_given_up_with_the_providers_words(open_: Open, answer: Answer, words: str) -> None:
    chat, server = open_(lambda _body: answer)

    with pytest.raises(GiveUp, match=words) as caught:
        chat.reply(ASKED)

    assert chat.name in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_a_refusal_is_given_up_with_the_models_words(open_: Open) -> None:
    chat, _ = open_(lambda _body: Answer(refusal="I would rather not."))

    with pytest.raises(GiveUp, match=r"refused: I would rather not\."):
        chat.reply(ASKED)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "9", "Retry-After-Ms": "1500"}, 1.5),
        ({"Retry-After": "-3"}, 0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_the_wait_that_the_provider_asks_for_is_passed_on(
    open_: Open, status: int, headers: dict[str, str], wait: float | None
) -> None:
    chat, _ = open_(lambda _body: Answer(status=status, headers=headers))

    with pytest.raises(TryAgain) as caught:
        chat.reply(ASKED)

    assert caught.value.wait == wait


def test_a_wait_given_as_a_date_becomes_seconds(open_: Open) -> None:
    def script(_body: dict[str, Any]) -> Answer:
        then = datetime.now(UTC) + timedelta(seconds=30)
        return Answer(status=429, headers={"Retry-After": format_datetime(then, usegmt=True)})

    chat, _ = open_(script)

    with pytest.raises(TryAgain) as caught:
        chat.reply(ASKED)

    assert caught.value.wait == pytest.approx(30, abs=5)


@pytest.mark.parametrize("answer", [Answer(delay=60), Answer(trickle=60), Answer(trickle=2)])
def test_a_model_that_hangs_or_trickles_is_left_after_the_timeout(open_: Open, answer: Answer) -> None:
    chat, _ = open_(lambda _body: answer, timeout=0.5)
    began = time.monotonic()

    with pytest.raises(TryAgain, match="did not reply in time"):
        chat.reply(ASKED)

    assert 0.4 < time.monotonic() - began < patient(10)


def test_a_server_that_is_not_there_is_tried_again(open_: Open) -> None:
    chat, server = open_(well)
    server.end()

    with pytest.raises(TryAgain, match=r"could not be reached at http://(127\.0\.0\.1|localhost):[0-9]+: .*refused"):
        chat.reply(ASKED)


def test_a_chat_recovers_after_a_fault_and_serves_threads_at_once(open_: Open) -> None:
    faults = [Answer(cut=True), Answer(status=500), Answer(delay=0.01)]
    chat, server = open_(in_turn(*faults), connections=8)
    for _ in range(2):
        with pytest.raises(TryAgain):
            chat.reply(ASKED)

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: chat.reply(ASKED).text, range(24)))

    assert replies == ["Reply to: Write about the sea."] * 24
    assert len(server.requests) == 26


def test_a_missing_key_is_named_when_the_model_is_opened(provider: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv(f"{provider.upper()}_BASE_URL", "")

    with pytest.raises(BadInput, match=f"{provider.upper()}_API_KEY is not set") as caught:
        open_chat(f"{provider}:small", timeout=10, connections=1)

    assert f"{provider.upper()}_BASE_URL" in str(caught.value)


def test_an_address_without_a_scheme_is_refused(provider: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv(f"{provider.upper()}_BASE_URL", "localhost:8000/v1")

    with pytest.raises(BadInput, match="must start with http://"):
        open_chat(f"{provider}:small", timeout=10, connections=1)
