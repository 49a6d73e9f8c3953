"""The report's page in a real browser, with the network cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from memshare.evaluation.report import write_report
from tests.support.experiments import cell, write_experiment

SCRIPT = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
UNBROKEN = "word" * 100


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of three experiments: by condition, by phase with something counted, and of two models."""
    folder = tmp_path_factory.mktemp("evaluation")
    zero = cell("0 memories", (50, 60, 55, 40), prompt=SCRIPT, reference=UNBROKEN)
    three = cell("3 memories", (70, 65, 30, None), memories=3, prompt=SCRIPT, reference=UNBROKEN)
    three[0] = three[0].model_copy(update={"answer": f"{SCRIPT} {UNBROKEN}"})
    write_experiment(folder, [*zero, *three])
    phases = zero + [
        one
        for phase, share in (("0 %", 0.75), ("100 %", 0.25))
        for one in cell("3 memories", (60, 70), phase=phase, memories=3, marks={"bad memories shown": share})
    ]
    write_experiment(folder, phases, experiment="bias", title="A bad beginning", notes=(SCRIPT,))
    two = [one.model_copy(update={"model": name}) for name in ("a", "a-model-with-a-long-name") for one in zero + three]
    write_experiment(folder, two, experiment="pools", title="Pools")
    write_report(folder, folder / "report.html")
    return folder / "report.html"


def opened(browser: Browser, file: Path, told: list[str] | None = None, **options: Any) -> Page:
    """The page in a browser without a network; what goes wrong and what is asked for is added to `told`."""
    page = browser.new_context(offline=True, **options).new_page()
    if told is not None:
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: told.append(request.url[:40]))
        page.on("requestfailed", lambda request: told.append(f"failed: {request.url[:40]}"))
    page.goto(file.as_uri())
    return page


def test_it_opens_without_a_network_and_asks_for_nothing_but_itself(browser: Browser, page_file: Path) -> None:
    told: list[str] = []

    page = opened(browser, page_file, told)

    assert page.locator("h1").inner_text() == "What memories do"
    assert told[0].startswith("file://")
    assert [one for one in told[1:] if not one.startswith("data:image/svg+xml")] == []


def test_every_chart_is_drawn(browser: Browser, page_file: Path) -> None:
    page = opened(browser, page_file)

    charts = page.locator(".chart img")
    boxes = [chart.bounding_box() for chart in charts.all()]

    assert len(boxes) == 3
    assert min(charts.evaluate_all("all => all.map(one => one.naturalWidth)")) > 500
    assert all(box and box["width"] > 500 and box["height"] > 200 for box in boxes)


def test_examples_stand_side_by_side_and_below_each_other_where_it_is_narrow(browser: Browser, page_file: Path) -> None:
    def places(width: int) -> list[tuple[float, float]]:
        page = opened(browser, page_file, viewport={"width": width, "height": 800})
        cards = page.locator(".beside").first.locator(".card")
        return [(box["x"], box["y"]) for card in cards.all() if (box := card.bounding_box())]

    (left, top), (left_of_second, top_of_second) = places(1100)
    assert left < left_of_second
    assert top == top_of_second

    (left, top), (left_of_second, top_of_second) = places(400)
    assert left == left_of_second
    assert top < top_of_second


def test_scripts_in_prompts_answers_and_notes_are_text(browser: Browser, page_file: Path) -> None:
    page = opened(browser, page_file)

    assert page.title() == "memshare: what memories do"
    assert page.locator("script").count() == 0
    assert page.get_by_text(SCRIPT, exact=True).count() >= 7


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_a_narrow_screen(browser: Browser, page_file: Path, scheme: str) -> None:
    page = opened(browser, page_file, viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")

    assert page.locator("table").count() == 6
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    right = "all => all.map(one => one.getBoundingClientRect().right)"
    assert max(page.locator(".scroll, p, li, dd, .card, .text, h1, h2, h3, h4").evaluate_all(right)) <= 400


def test_it_is_dark_where_the_reader_wants_it_dark(browser: Browser, page_file: Path) -> None:
    def colours(scheme: str) -> list[str]:
        page = opened(browser, page_file, color_scheme=scheme)
        style = "getComputedStyle(document.body)"
        return page.evaluate(f"[{style}.backgroundColor, {style}.color]")

    assert colours("light") == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
    assert colours("dark") == ["rgb(20, 24, 29)", "rgb(228, 232, 236)"]
