from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memshare.cli.main import app
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.papers import PAPERS
from memshare.evaluation.report import write_report
from memshare_broker.errors import BadInput
from tests.support.experiments import cell, write_experiment

SCRIPT = "<script>document.title = 'taken'</script>"
MEASURED = [*cell("0 memories", (50, 60, 55, 40)), *cell("3 memories", (70, 65, 54, None), memories=3)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two experiments that ended, one that did not, and nothing of the others."""
    write_experiment(tmp_path, MEASURED)
    write_experiment(tmp_path, MEASURED, experiment="growth", title="A growing pool")
    (tmp_path / "bias").mkdir()
    return tmp_path


def text_of(page: Path) -> str:
    """What a reader reads, without tags and line breaks."""
    body = page.read_text(encoding="utf-8").partition("<body>")[2]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_the_page_has_every_experiment_in_order_and_says_which_are_missing(folder: Path) -> None:
    written = write_report(folder, folder / "page.html")

    assert written.experiments == ("memories", "growth")
    assert written.unfinished == ("bias",)
    assert set(written.not_begun) == EXPERIMENTS.keys() - {"memories", "growth", "bias"}
    text = text_of(folder / "page.html")
    assert "Begun and not finished, so not on this page: bias." in text
    assert "Not begun: heterologous, balance, growth-ms, pools" in text
    assert "3 memories: -4.0 points against 0 memories" in text
    assert "4 (1 failed)" in text
    assert "Only one judge: openai:one graded the answers, and decided what was remembered" in text
    assert "openai:one: 1,234 calls; 56,789 prompt tokens; 10 completion tokens" in text
    assert "riddles.jsonl: 7 items; 2 dropped" in text
    assert "2023-11-14 22:13 UTC to 2023-11-14 22:14 UTC" in text


def test_a_papers_page_has_its_tables_alone_beside_what_the_paper_says(folder: Path) -> None:
    written = write_report(folder, folder / "inms.html", PAPERS["inms"])

    assert (written.experiments, written.unfinished) == (("memories", "growth"), ("bias",))
    text = text_of(folder / "inms.html")
    assert "Three memories are best. memories 3 memories: -4.0 points against 0 memories" in text
    assert "memories of other models Memories that other models wrote help, too. not finished" in text
    assert "facts" not in text


def test_a_papers_page_has_its_figures_and_ours_below_them(tmp_path: Path) -> None:
    measured = [*cell("one call", (50, 60), marks={"says the answer": 0.25})]
    measured += cell("engine", (70, 80), marks={"says the answer": 0.75})
    write_experiment(tmp_path, measured, experiment="complex")

    write_report(tmp_path, tmp_path / "dynamind.html", PAPERS["dynamind"])

    text = text_of(tmp_path / "dynamind.html")
    assert "Table 2, beside complex % basic DynaMind GPT-3.5 (paper) 8.5 89.0" in text
    assert "openai:one (here) 25.0 75.0" in text
    assert "Table 3, beside contradictions % 3 epochs 5 epochs" in text


def test_text_of_models_and_data_is_text(tmp_path: Path) -> None:
    measured = [one.model_copy(update={"answer": SCRIPT, "condition": f"{one.condition} {SCRIPT}"}) for one in MEASURED]
    measured = [one.model_copy(update={"prompt": SCRIPT, "reference": SCRIPT, "kind": SCRIPT}) for one in measured]
    baseline = f"0 memories {SCRIPT}"
    write_experiment(tmp_path, measured, title=SCRIPT, notes=(SCRIPT,), scorer=SCRIPT, baseline=baseline)

    write_report(tmp_path, tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("&lt;script&gt;") > 20
    assert "<script" not in page


def test_the_page_asks_for_nothing_from_outside(folder: Path) -> None:
    write_report(folder, folder / "page.html")

    page = (folder / "page.html").read_text(encoding="utf-8")
    assert not re.findall(r"https?://", page)
    addresses = re.findall(r'(?:src|href)="([^"]*)', page)
    assert len(addresses) > 4
    assert all(address.startswith(("#", "data:image/svg+xml;base64,")) for address in addresses)


def test_an_experiment_of_another_version_comes_last(folder: Path) -> None:
    write_experiment(folder, MEASURED, experiment="an-older-one")

    assert write_report(folder, folder / "page.html").experiments == ("memories", "growth", "an-older-one")


def test_a_chart_that_is_missing_is_drawn(folder: Path) -> None:
    (folder / "growth" / "chart.svg").unlink()

    write_report(folder, folder / "page.html")

    assert (folder / "page.html").read_text(encoding="utf-8").count("data:image/svg+xml") == 2


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("result.json", "{", r"growth/result\.json.* cannot be read"),
        ("items.jsonl", '\n{"condition": 7}\n', r"growth/items\.jsonl:2: the item: condition"),
        ("run.json", '{"started": "soon"}', r"growth/run\.json cannot be read: started"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_the_old_page_stays(
    folder: Path, file: str, text: str, said: str
) -> None:
    page = folder / "page.html"
    page.write_text("the old page", encoding="utf-8")
    (folder / "growth" / file).write_text(text, encoding="utf-8")

    with pytest.raises(BadInput, match=said):
        write_report(folder, page)

    assert page.read_text(encoding="utf-8") == "the old page"


def test_items_that_are_gone_are_missed(folder: Path) -> None:
    (folder / "growth" / "items.jsonl").unlink()

    with pytest.raises(BadInput, match=r"growth/items\.jsonl' cannot be read: No such file"):
        write_report(folder, folder / "page.html")


def test_a_folder_without_a_finished_experiment_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "bias").mkdir()

    with pytest.raises(BadInput, match="no finished experiment"):
        write_report(tmp_path, tmp_path / "page.html")
    with pytest.raises(BadInput, match="is no folder"):
        write_report(tmp_path / "nowhere", tmp_path / "page.html")

    assert not (tmp_path / "page.html").exists()


def test_the_command_writes_into_the_folder_and_tells_machines_what(folder: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(folder), "--json"])

    assert result.exit_code == 0, result.exception
    told = json.loads(result.stdout)
    assert told["file"] == str(folder / "report.html")
    assert told["experiments"] == ["memories", "growth"]
    assert (folder / "report.html").exists()


def test_the_command_takes_another_file(folder: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "other.html")])

    assert result.exit_code == 0, result.exception
    assert "memories, growth" in result.stdout
    assert (tmp_path / "other.html").exists()
    assert not (folder / "report.html").exists()
