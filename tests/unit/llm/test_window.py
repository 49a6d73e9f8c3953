from __future__ import annotations

import pytest

from memshare_broker.wire.messages import Turn, Usage
from memshare_llm import chat
from memshare_llm.chat import OTHERWISE, ModelWindow, Window, was_cut


@pytest.mark.parametrize(
    ("characters", "counted", "cut"),
    [(40_366, 2_050, True), (40_366, 10_000, False), (3_999, 1, False), (40_366, 0, False), (4_000, 399, True)],
)
def test_a_prompt_was_cut_where_far_fewer_tokens_were_counted_than_it_has(
    characters: int, counted: int, cut: bool
) -> None:
    assert was_cut([Turn(role="user", content="x" * characters)], Usage(prompt_tokens=counted)) is cut


def test_a_window_is_asked_for_now_and_then_and_the_last_one_known_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [None, Window(4_096), None, Window(8_192)]
    asked: list[Window | None] = []
    now = 1_000.0
    monkeypatch.setattr(chat.time, "monotonic", lambda: now)

    def ask() -> Window | None:
        asked.append(told[len(asked)])
        return asked[-1]

    known = ModelWindow(ask)
    seen = []
    for seconds in (0, 1, 30, 299, 1, 29, 1):
        now += seconds
        seen.append(known().tokens)

    assert seen == [OTHERWISE, OTHERWISE, 4_096, 4_096, 4_096, 4_096, 8_192]
    assert len(asked) == 4


def test_the_setting_holds_where_a_server_tells_nothing() -> None:
    assert ModelWindow(lambda: None, 2_048)().tokens == 2_048
