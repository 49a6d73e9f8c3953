"""`memshare token`: made, shown once, listed, revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis
from typer.testing import CliRunner, Result

from memshare.cli.run.token import app
from memshare.operations.caller import Tokens
from memshare_broker.errors import BadInput
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.usage import UsageLog


@pytest.fixture(autouse=True)
def environment(redis_folder: Path, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setenv("MEMSHARE_DATA", str(redis_folder))
    monkeypatch.setenv("MEMSHARE_MODEL", "offline")


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def root(redis_client: redis.Redis) -> None:
    """There is a token that may do everything already."""
    Tokens(redis_client).create("root", ("admin",), None)


@pytest.mark.usefixtures("root")
def test_a_token_is_printed_once_and_does_what_it_was_made_for(redis_client: redis.Redis) -> None:
    text = run("create", "ada", "--may", "recall,offer", "--pools", "logic, plan").stdout.strip()

    found = Tokens(redis_client).find(text)
    assert found is not None
    assert (found.name, found.may, found.pools) == ("ada", ("recall", "offer"), ("logic", "plan"))
    assert text not in run("list").stdout
    [listed, _] = json.loads(run("list", "--json").stdout)
    assert (listed["name"], listed["pools"]) == ("ada", ["logic", "plan"])
    assert "digest" not in listed


def test_the_first_token_says_that_every_request_needs_one_now(redis_client: redis.Redis) -> None:
    def said(name: str) -> str:
        made = run("create", name, "--may", "admin", "--pools", "*")
        assert Tokens(redis_client).find(made.stdout.strip()) is not None
        return made.stderr

    assert "from now on every request" in said("ada")
    assert said("bea") == ""


def test_a_star_is_all_pools_and_no_pool_is_none(redis_client: redis.Redis) -> None:
    text = json.loads(run("create", "ada", "--may", "admin", "--pools", "*", "--json").stdout)["token"]

    found = Tokens(redis_client).find(text)
    assert found is not None
    assert found.pools is None
    with pytest.raises(BadInput, match="The token: pools"):
        run("create", "bea", "--may", "admin", "--pools", "")


def test_a_first_token_with_less_than_all_is_refused_with_what_to_make_first(redis_client: redis.Redis) -> None:
    with pytest.raises(BadInput, match=r"memshare token create NAME --may admin --pools '\*'"):
        run("create", "ada", "--may", "recall", "--pools", "logic")

    assert not Tokens(redis_client).any()


def test_a_token_that_is_revoked_is_not_found(redis_client: redis.Redis) -> None:
    text = run("create", "ada", "--may", "admin", "--pools", "*").stdout.strip()

    assert "There is no token any more" in run("revoke", "ada").stdout

    assert Tokens(redis_client).find(text) is None
    with pytest.raises(BadInput, match="No token is called 'ada'"):
        run("revoke", "ada")


def test_the_last_token_that_may_do_everything_is_not_revoked_before_the_others(redis_client: redis.Redis) -> None:
    run("create", "root", "--may", "admin", "--pools", "*")
    run("create", "ada", "--may", "recall", "--pools", "*")

    with pytest.raises(BadInput, match=r"'root'.*memshare token create NAME --may admin --pools '\*'"):
        run("revoke", "root")

    assert [one.name for one in Tokens(redis_client).all()] == ["ada", "root"]
    run("revoke", "ada")
    run("revoke", "root")


@pytest.mark.usefixtures("root")
def test_a_daily_cap_is_one_of_the_submitter_and_takes_a_price_in_dollars(
    redis_client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ("create", "ada", "--may", "submit", "--pools", "*", "--daily-usd", "2.5")
    with pytest.raises(BadInput, match="price in USD"):
        run(*wanted)
    (tmp_path / "prices.toml").write_text('currency = "USD"\n\n[offline]\nprompt = 1\ncompletion = 2\n')
    monkeypatch.setenv("MEMSHARE_PRICES", str(tmp_path / "prices.toml"))

    run(*wanted)

    caps = Budget(redis_client, UsageLog(redis_client)).caps()
    assert caps == {Holder("submitter", "ada"): Cap(money=2.5)}


def test_a_right_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match=r"The token: may: .*, not 'fly'"):
        run("create", "ada", "--may", "recall,fly", "--pools", "*")
