from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from memshare.cli.curate.rubric import app
from memshare_broker.errors import BadInput
from memshare_scorer.rubric import BUNDLED, read_rubric


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def unapproved(tmp_path: Path) -> Path:
    file = tmp_path / "mine.rubric.toml"
    text = (BUNDLED / "plan.toml").read_text(encoding="utf-8").partition("[approval]")[0]
    file.write_text(text.replace("general advice", "[bold]general advice[/nothing]"), encoding="utf-8")
    return file


def test_show_prints_a_rubric_for_machines() -> None:
    shown = json.loads(run("show", "poem", "--json").stdout)

    assert shown["name"] == "poem"
    assert shown["approved"] is True
    assert sum(criterion["points"] for criterion in shown["criteria"]) == 100


def test_an_unknown_rubric_is_bad_input() -> None:
    assert isinstance(run("show", "haiku").exception, BadInput)


def test_approve_shows_the_rubric_as_it_is_written_and_records_who(unapproved: Path) -> None:
    result = run("approve", str(unapproved), "--by", "Ada [L.]", "--yes")

    assert result.exit_code == 0, result.exception
    assert "[bold]general" in result.stdout
    assert "is approved by Ada [L.]" in result.stdout
    assert read_rubric(unapproved).approved


def test_a_file_is_shown_as_it_is_approved(unapproved: Path) -> None:
    assert json.loads(run("show", str(unapproved), "--json").stdout)["name"] == "mine"


@pytest.mark.parametrize("typed", ["mine", "mine.rubric.toml"])
def test_a_rubric_of_ones_own_is_approved_and_withdrawn_by_its_name(
    unapproved: Path, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSHARE_AGENTS_DIR", str(unapproved.parent))

    assert run("approve", typed, "--by", "Ada", "--yes").exit_code == 0
    assert read_rubric(unapproved).approved
    assert run("withdraw", typed, "--yes").exit_code == 0
    assert not read_rubric(unapproved).approved


@pytest.mark.parametrize("command", ["approve", "withdraw"])
def test_what_is_no_rubric_is_said_with_the_rubric_that_is_meant(
    unapproved: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unapproved.parent
    (folder / "orders.toml").write_text('description = "Orders."\nrubric = "mine"\n')

    def told(typed: str) -> str:
        return str(run(command, typed, "--yes").exception)

    assert "MEMSHARE_AGENTS_DIR" in told("mine")
    monkeypatch.setenv("MEMSHARE_AGENTS_DIR", str(folder))
    agent, of_folder, unknown = told(str(folder / "orders.toml")), told(str(folder)), told("theirs")

    assert agent.endswith(f"Its rubric 'mine' is another file: {unapproved}")
    assert of_folder.endswith(f"Its rubrics: {unapproved}.")
    assert f"in {str(folder)!r} (mine): give one of these names, or" in unknown
    assert str(BUNDLED / "poem.toml") in told("poem")


def test_approve_with_json_prints_nothing_but_json(unapproved: Path) -> None:
    approved = json.loads(run("approve", str(unapproved), "--by", "Ada", "--yes", "--json").stdout)

    assert approved["approved"] is True
    assert approved["approval"]["by"] == "Ada"


def test_nothing_is_approved_where_nobody_can_be_asked(unapproved: Path) -> None:
    result = run("approve", str(unapproved))

    assert isinstance(result.exception, BadInput)
    assert "--yes" in str(result.exception)
    assert not read_rubric(unapproved).approved


def test_an_approval_is_withdrawn_with_what_to_do_once_it_is_given_again(unapproved: Path) -> None:
    before = unapproved.read_text(encoding="utf-8")
    run("approve", str(unapproved), "--by", "Ada", "--yes")

    result = run("withdraw", str(unapproved), "--yes")

    assert result.exit_code == 0, result.exception
    assert "approved by Ada" in result.stdout
    assert f"memshare rubric approve {unapproved}" in result.stdout
    assert "memshare dead retry --reason rubric" in result.stdout
    assert unapproved.read_text(encoding="utf-8").strip() == before.strip()


def test_no_approval_is_withdrawn_where_nobody_can_be_asked(unapproved: Path) -> None:
    run("approve", str(unapproved), "--by", "Ada", "--yes")

    result = run("withdraw", str(unapproved), "--json")

    assert "--yes" in str(result.exception)
    assert read_rubric(unapproved).approved
    assert json.loads(run("withdraw", str(unapproved), "--json", "--yes").stdout)["approved"] is False


def test_a_draft_does_not_ask_a_model_when_its_file_exists(unapproved: Path) -> None:
    before = unapproved.read_text(encoding="utf-8")

    result = run("draft", "Recipes", "--out", str(unapproved))

    assert "exists already" in str(result.exception)
    assert unapproved.read_text(encoding="utf-8") == before
