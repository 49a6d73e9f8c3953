"""Texts full of markup, bidi and terminal escapes, on the screens that show few texts of others."""

from __future__ import annotations

from playwright.sync_api import Browser

from memshare_memory.curate.requests import Forget
from memshare_scorer.rubric import Criterion, Rubric
from memshare_scorer.rubric_file import write
from tests.browser.people import HOSTILE, MARKUP, add, looking, require_harmless
from tests.support.deployment import Deployment

AGENT = """
description = "Odd."
instructions = "Be odd."
pool = "logic"
rubric = "odd"
model = "openai:<script>alert(4)</script>"
"""


def test_hostile_texts_are_text_in_the_trash_on_cards_among_agents_and_pools(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    [gone, _] = add(deployment, f"{HOSTILE} gone", f"{HOSTILE} card", pool="odd", submitter=MARKUP)
    deployment.client.memories.forget(Forget(ids=(gone,)))
    assert deployment.settings.agents_dir is not None
    criteria = (Criterion(name="oddity", points=100, description=MARKUP),)
    write(Rubric(domain=MARKUP, criteria=criteria), deployment.settings.agents_dir / "odd.rubric.toml")
    (deployment.settings.agents_dir / "odd.toml").write_text(AGENT)

    with looking(browser) as watched:
        for path in ("/trash", "/review?pool=odd", "/access", "/agents", "/rubrics/odd"):
            page = watched.see(path, url)
            page.evaluate("document.querySelectorAll('main details').forEach(one => one.open = true)")
            if path != "/access":  # which shows names alone, of letters and digits
                assert "<script>alert(" in page.locator("main").inner_text(), path
            require_harmless(page)
