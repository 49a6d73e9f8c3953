"""Operations of those who run a deployment: tokens, the last backup, spend caps, and dead letters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NamedTuple

import redis
from pydantic import Field

from memshare.client.client import Client
from memshare.client.errors import NotFound
from memshare.client.rest.calls.journeys import LetterDecision
from memshare.client.rest.calls.operating import (
    Access,
    Budgets,
    Capped,
    CapReply,
    DeadLetterCalls,
    DeadLetterReply,
    Dropped,
    LastBackup,
    NewTokenReply,
    Retried,
    RevokedReply,
    Spending,
    Spent,
    TokenReply,
)
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, Right, Token, TokenName, audit
from memshare.operations.serving import note_decided, serves
from memshare_broker.child_processes import signals_wait
from memshare_broker.delivery.dead_letters import DeadLetter
from memshare_broker.delivery.journey_records import DECIDED, note
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Name
from memshare_llm.limits.budget import Budget, Cap, Holder, Prices, load_prices
from memshare_llm.limits.usage import UsageLog, Used, day_of

TokenPath = Annotated[str, Field(min_length=1, max_length=200)]


@serves(Access.list, right="everything")
def tokens(backend: Backend, caller: Caller) -> list[TokenReply]:  # noqa: ARG001
    """Every token, by name."""
    with backend.reaching():
        found = backend.tokens.all()
    return [TokenReply(**one.model_dump(exclude={"digest"})) for one in found]


@serves(Access.create, "TokenForm", right="everything")
def create(
    backend: Backend,
    caller: Caller,
    name: TokenName,
    may: Annotated[tuple[Right, ...], Field(min_length=1)],
    pools: Annotated[tuple[Name, ...] | None, Field(min_length=1, description="null: all pools")] = None,
    group: Annotated[
        Name | None, Field(description="its team: what its members say of each other's memories proves nobody")
    ] = None,
) -> NewTokenReply:
    """Make a token; raises `BadInput` for a name that is taken or reserved, and where nobody could make the next."""
    with backend.reaching():
        if not ("admin" in may and pools is None) and lacks_admin(backend.tokens.all()):
            raise BadInput(
                "No token has the right 'admin' for all pools yet, and once there is any, only such a token opens "
                "Access and makes others by the page and REST. Make it first: `memshare token create NAME --may admin "
                "--pools '*'`."
            )
        text = backend.tokens.create(name, may, pools, group)
    audit(caller, "create a token", token=name)
    return NewTokenReply(name=name, token=text)


def lacks_admin(there: Iterable[Token | TokenReply]) -> bool:
    """True if none of these tokens may do everything in all pools."""
    return not any("admin" in one.may and one.pools is None for one in there)


@serves(Access.revoke, right="everything")
def revoke(backend: Backend, caller: Caller, token_name: TokenPath) -> RevokedReply:
    """Let a token be worth nothing; raises `NotFound`, and `BadInput` where nobody could make or revoke the others."""
    with backend.reaching():
        there = backend.tokens.all()
        left = [one for one in there if one.name != token_name]
        if left and len(left) < len(there) and lacks_admin(left) and not lacks_admin(there):
            raise BadInput(
                f"{token_name!r} is the last token with the right 'admin' for all pools: without it nobody could make "
                "or revoke the others by the page or REST. Make another one first: `memshare token create NAME --may "
                "admin --pools '*'`; or revoke the others first."
            )
        backend.tokens.revoke(token_name)
    audit(caller, "revoke a token", token=token_name)
    return RevokedReply(name=token_name, left=len(left))


@serves(Access.last_backup, right="everything")
def last_backup(backend: Backend, caller: Caller) -> LastBackup | None:  # noqa: ARG001
    """When, by whom and where it was made; None without any."""
    with backend.reaching():
        return read_last_backup(backend.redis)


LAST_BACKUP = "memshare:backup"


def note_backup(client: redis.Redis, made: LastBackup) -> None:
    """Note that a backup was made, in place of the one before."""
    client.set(LAST_BACKUP, made.model_dump_json())


def read_last_backup(client: redis.Redis) -> LastBackup | None:
    """The last one; None where none was made."""
    text = client.get(LAST_BACKUP)
    return LastBackup.model_validate_json(text) if text else None


_NO_PRICE = (
    "Money can be capped only where calls have a price, and {model!r} has none. Write one into a TOML file, and name "
    "the file in MEMSHARE_PRICES, here and for the workers: docs/budgets.md."
)


@serves(Budgets.get)
def budgets(backend: Backend, caller: Caller) -> Spending:
    """The spending of today, without what is not the caller's to know."""

    def may_know(kind: str, name: str) -> bool:
        card = backend.cards().get(name) if kind == "agent" else None
        return caller.may_all or (
            name == caller.name if kind == "submitter" else card is not None and caller.uses(card)
        )

    prices, usage = load_prices(backend.settings.prices), UsageLog(backend.redis)
    with backend.reaching():
        used, caps, parked = usage.today(), Budget(backend.redis, usage).caps(), backend.client.ledger.parked.all()
    waiting = Counter(one.hold for one in parked)
    spent = {
        kind: {name: Spent(**one._asdict()) for name, one in used[kind].items() if may_know(kind, name)}
        for kind in ("agent", "submitter")
    }
    models = used["model"].items() if caller.may_all else ()
    return Spending(
        day=day_of(time.time()),
        currency=prices.currency,
        caps=[
            _capped(holder, cap, used[holder.kind].get(holder.name, Used()), waiting[holder.hold])
            for holder, cap in caps.items()
            if may_know(holder.kind, holder.name)
        ],
        agents=spent["agent"],
        submitters=spent["submitter"],
        models={name: Spent(**one._asdict(), priced=prices.of(name) is not None) for name, one in models},
    )


def _capped(holder: Holder, cap: Cap, used: Used, waiting: int) -> Capped:
    return Capped(
        **holder._asdict(),
        **cap.model_dump(),
        tokens_used=used.tokens,
        money_used=used.money,
        tokens_left=None if cap.tokens is None else max(cap.tokens - used.tokens, 0),
        money_left=None if cap.money is None else max(cap.money - used.money, 0.0),
        waiting=waiting,
    )


@serves(Budgets.set, "CapForm", right="everything")
def set_one(
    backend: Backend,
    caller: Caller,
    kind: Literal["agent", "submitter"],
    name: Label,
    tokens: Annotated[int | None, Field(ge=0, le=2**53)] = None,
    money: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None,
    none: Annotated[bool, Field(description="whether the cap is taken away")] = False,
) -> CapReply:
    """Set a cap, with what it leaves out unchanged; tasks that wait for it go on.

    Raises `BadInput` for an agent that there is not, and for money where calls have no price.
    """
    if none == (tokens is not None or money is not None):
        raise BadInput("Say what the cap is with 'tokens' or 'money', or take it away with 'none'.")
    holder = Holder(kind, name)
    agent = name if kind == "agent" else None
    prices, usage = load_prices(backend.settings.prices), UsageLog(backend.redis)
    if not none:
        model = _model_of(backend.client, agent)
        if money is not None and prices.of(model) is None:
            raise BadInput(_NO_PRICE.format(model=model))
    with backend.reaching():
        budget = Budget(backend.redis, usage)
        whole = None if none else budget.caps().get(holder, Cap()) | Cap(tokens=tokens, money=money)
        budget.set(holder, whole)
        go_on = backend.client.ledger.parked.lift(holder.hold)
        unpriced = _unpriced(backend.client, prices, agent, usage) if money is not None else ()
    cap = (whole or Cap()).model_dump()
    audit(caller, "cap", kind=kind, name=name, **cap)
    return CapReply(**holder._asdict(), **cap, go_on=go_on, unpriced=tuple(unpriced))


def _model_of(client: Client, agent: str | None) -> str:
    """The chat model of an agent, or that of all where the cap is a submitter's; raises `BadInput` if unknown."""
    if agent is None:
        return client.settings.model_for("agents")
    agents = client.agents()
    if agent not in agents:
        raise BadInput(f"No agent is called {agent!r}. There are: {', '.join(sorted(agents))}.")
    return agents[agent].model


def _unpriced(client: Client, prices: Prices, agent: str | None, usage: UsageLog) -> list[str]:
    """The models that work for the cap's holder, and those that have today, which have no price."""
    settings = client.settings
    models = {card.model for card in client.agents().values() if agent in (None, card.name)}
    models |= {settings.model_for("scorer"), settings.model_for("trainer")} | usage.today()["model"].keys()
    return sorted(model for model in models if prices.of(model) is None)


LetterId = Annotated[str, Field(min_length=1, max_length=200, description="the `id` that the list shows")]


@serves(DeadLetterCalls.list, right="admin")
def dead_letters(backend: Backend, caller: Caller) -> list[DeadLetterReply]:
    """The messages that were given up in the caller's pools, oldest first."""
    with backend.reaching():
        letters = backend.client.dead_letters.all()
    found = [(letter, pool_of_letter(backend, letter)) for letter in letters]
    return [
        DeadLetterReply(
            id=letter.entry.id, journey=letter.entry.journey, task=letter.entry.task, pool=pool, reason=letter.reason,
            error=letter.error, tries=letter.tries, died=letter.died, retriable=letter.retriable, **_texts(letter),
        )
        for letter, pool in found
        if caller.sees(pool)
    ]  # fmt: skip


class LastError(NamedTuple):
    """The latest failure of a kind, and how many there were: tries that failed, or what was given up."""

    reason: str
    times: int
    error: str
    journey: str
    at: float


def last_errors(backend: Backend, caller: Caller) -> list[LastError]:
    """The latest failure of each kind, the latest first: dead letters, and for who sees all pools failed tries, too."""
    if not caller.may("admin"):
        return []
    letters = dead_letters(backend, caller)
    given_up = Counter(one.reason for one in letters)
    found = {one.reason: LastError(one.reason, 0, one.error, one.journey, one.died) for one in letters}
    tried = dict[str, int]()
    if caller.pools is None:
        with backend.reaching():
            tried, last = backend.client.ledger.failed(), backend.client.ledger.last_failed()
        for reason, one in last.items():
            if reason not in found or one["at"] > found[reason].at:
                found[reason] = LastError(reason, 0, one["error"], one["journey"], one["at"])
    counts = {reason: max(given_up[reason], tried.get(reason, 0)) for reason in found}
    every = [one._replace(times=counts[reason]) for reason, one in found.items()]
    return sorted(every, key=lambda one: one.at, reverse=True)


@serves(DeadLetterCalls.retry)
def retry(backend: Backend, caller: Caller, letter_id: LetterId) -> Retried:
    """Put a message back into its queue, under its old id."""
    return Retried(id=letter_id, retried=bool(decide_letters(backend, caller, "retry", [letter_id])))


@serves(DeadLetterCalls.drop)
def drop(backend: Backend, caller: Caller, letter_id: LetterId) -> Dropped:
    """Drop a message for good."""
    decide_letters(backend, caller, "drop", [letter_id])
    return Dropped(id=letter_id)


def decide_letters(backend: Backend, caller: Caller, do: Literal["retry", "drop"], letters: Sequence[str]) -> list[str]:
    """Put dead letters back into their queues, or drop them, which their journeys show from then on.

    Returns the ids of those that were; what somebody else decided before is not. Raises `NotFound` for an id alone.
    """
    others, done = len(letters) - 1, []
    did: Literal["tried again", "dropped"] = "tried again" if do == "retry" else "dropped"
    said = LetterDecision(did=did, by=caller.name, at=time.time(), others=others).model_dump(mode="json")
    try:
        for one in letters:
            try:
                letter = _own(backend, caller, one)
            except NotFound:
                if others:
                    continue
                raise
            journey = letter.entry.journey
            with signals_wait(), backend.reaching():
                if do == "drop":
                    backend.client.dead_letters.drop(letter)
                elif not backend.client.dead_letters.retry(backend.client.app, letter):
                    continue
                if backend.client.ledger.journey(journey):  # it may be kept for less time than the letter
                    note(backend.redis, journey, DECIDED, said)
                audit(caller, do, message=one, journey=journey, chosen_with=others or None)
                done.append(one)
    except KeyboardInterrupt as error:
        many = f"{len(done)} of {len(letters)} dead letters"
        raise KeyboardInterrupt(f"Stopped after {many}. The others are as they were.") from error
    finally:
        if done:
            note_decided(backend)
    return done


def _own(backend: Backend, caller: Caller, letter_id: str) -> DeadLetter:
    caller.require("admin")
    unknown = NotFound(f"No dead letter of your pools has the id {letter_id!r}.")
    try:
        with backend.reaching():
            letter = backend.client.dead_letters.get(letter_id)
    except BadInput as error:
        raise unknown from error
    if not caller.sees(pool_of_letter(backend, letter)):
        raise unknown
    return letter


def _texts(letter: DeadLetter) -> dict[str, str]:
    """The prompt and the answer that a message is about, as far as it has them itself."""
    body = letter.entry.body
    for part in ("task", "memory"):
        body = body.get(part, body) if isinstance(body, dict) else {}
    found = {name: body.get(name) for name in ("prompt", "answer")} if isinstance(body, dict) else {}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def pool_of_letter(backend: Backend, letter: DeadLetter) -> str | None:
    """The pool that a message was about: it says so itself, or its agent does."""
    first = body = letter.entry.body
    for _ in range(2):
        if isinstance(body, dict):
            if isinstance(pool := body.get("pool"), str):
                return pool
            body = body.get("task")
    return backend.pool_of(letter.entry.queue, str(first.get("submitter")) if isinstance(first, dict) else "")
