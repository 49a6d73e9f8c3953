from __future__ import annotations

from memshare_broker.wire.messages import FITS, asked, written

OPENING = "Tell me about the museum. " * 60


def talk(*said: str) -> str:
    return written((("user", "assistant")[place % 2], text) for place, text in enumerate(said))


def test_what_was_asked_last_comes_first_and_the_newest_of_the_rest_behind_it() -> None:
    text = asked(talk("When is it open?", "From nine to five.", "And in winter?"))

    assert text == "And in winter?\nFrom nine to five.\nWhen is it open?"


def test_two_conversations_with_the_same_opening_are_told_apart_within_what_an_encoder_reads() -> None:
    one, other = (asked(talk(OPENING, "Gladly.", last)) for last in ("Where do I park?", "May dogs come in?"))

    assert one[:100] != other[:100]
    assert one.startswith("Where do I park?\nGladly.\nTell me")
    assert len(one) <= FITS + 2


def test_a_long_last_turn_stays_whole_and_leaves_no_room_for_others() -> None:
    assert asked(talk("Hello.", "Yes?", OPENING)) == OPENING.strip()


def test_any_other_text_is_compared_as_it_is() -> None:
    for text in ("A limerick", "User: only one turn", "He said:\nUser: a\nAssistant: b\nUser: c", "", talk("a", "b")):
        assert asked(text) == text
