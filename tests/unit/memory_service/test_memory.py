"""The identity of a memory: one pair is one memory, however it is spelled, and older pools keep their ids."""

from __future__ import annotations

import unicodedata
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memshare_broker.wire.messages import derived_id
from memshare_memory.memory import folded, memory_id, said, saying, sayings

texts = st.text(max_size=40)


@pytest.mark.parametrize(
    ("prompt", "answer", "known", "said"),
    [
        (
            "A lamp",
            "There was a lamp",
            "b760fbf8-2dbf-54cc-b26f-44a807232966",
            "ba545d12a14e9f7560ead33e",
        ),
        (
            None,
            "Paris is the capital of France.",
            "af7c6f63-d9c0-55ef-b684-4bd96b9bd3ef",
            "0da37cfbfb0e745321652acd",
        ),
        (
            "Where is Nîmes?",
            "Au sud, près d’Arles. 👩\u200d💻",
            "e74871a3-de16-5042-9dcc-23da0c645041",
            "0a12def870f8e272ca75cc6c",
        ),
        (
            "می\u200cخواهم",
            "नमस्ते  two  spaces\n",
            "8286d8ce-6d8e-52c8-936f-261a480ef565",
            "ee4d02297881a30bdd2c05eb",
        ),
    ],
)
def test_the_ids_of_pools_that_there_are_stay_as_they_are(
    prompt: str | None, answer: str, known: str, said: str
) -> None:
    pool = {"A lamp": "poem", None: "plan"}.get(prompt, "logic")

    assert memory_id(pool, prompt, answer) == UUID(known)
    assert saying(answer) == said


@given(st.text(st.characters(codec="ascii"), max_size=40), st.text(st.characters(codec="ascii"), max_size=40))
def test_plain_texts_give_the_id_that_they_always_gave(prompt: str, answer: str) -> None:
    assert memory_id("poem", prompt, answer) == derived_id("memory", "poem", prompt, answer)
    assert folded(answer) == " ".join(answer.casefold().split())


@given(texts, texts, st.sampled_from(["\u200b", "\ufeff", "\u00ad", "\u2060"]))
def test_another_spelling_of_a_pair_is_the_same_memory(prompt: str, answer: str, unseen: str) -> None:
    same = memory_id("poem", prompt, answer)

    for form in ("NFC", "NFD"):
        spelled = [unicodedata.normalize(form, text) for text in (prompt, answer)]
        assert memory_id("poem", *spelled) == same
        assert [folded(text) for text in spelled] == [folded(prompt), folded(answer)]
    assert memory_id("poem", prompt + unseen, unseen + answer) == same
    assert memory_id("poem", prompt.replace(" ", "\u00a0"), answer) == same
    assert saying(unseen + answer + unseen) == saying(answer)


def test_case_white_space_and_width_make_another_memory() -> None:
    ids = {memory_id("poem", prompt, "Yes.") for prompt in ("A lamp?", "a lamp?", "A  lamp?", "A lamp\uff1f")}

    assert len(ids) == 4
    assert folded("A lamp?") == folded("a\u00a0 LAMP?") != folded("A lamp\uff1f")


@pytest.mark.parametrize(
    ("answer", "others"),
    [
        (
            "sits above",
            [
                *("**sits above**", "*Sits above*", "_sits above_", "__sits above__", "`sits above`"),
                *("# sits above", "- **sits above**", "> - sits above", "• sits above", "```text\nsits above\n```"),
                *("**sits above**.", "**sits above.**", '"**sits above.**"', '**"sits above"**', "**`sits above`**"),
                *("‘sits above’", "「sits above」", "ｓｉｔｓ　above", "sits\u2003above", "SITS\u00a0 **above**!"),
            ],
        ),
        ("The mayor is Ada.", ["The mayor is **Ada**.", "**The mayor is *Ada*.**", "the mayor is `Ada`"]),
        ("- Ada\n- Bob", ["* **Ada**\n* **Bob**", "Ada\nBob"]),
        ("It isn't 10-12, it is -5 (always).", ["It isn’t 10–12, it is −5 (**always**)."]),
        ("首都は東京です。", ["首都は**東京**です"]),
        ("ガス", ["ｶﾞｽ", "『ガス』。"]),
        ("Der Turm liegt in Köln.", ["„Der Turm liegt in **Köln**.“", "# Der Turm liegt in *Köln*"]),
        ("SELECT a_b FROM c WHERE '*e*'", ["```sql\nSELECT a_b FROM c WHERE '*e*'\n```"]),
        ("rm *tmp*", ["`rm *tmp*`"]),
    ],
)  # fmt: skip
def test_an_answer_says_the_same_with_marks_around_its_words(answer: str, others: list[str]) -> None:
    assert {one: said(one) for one in others} == dict.fromkeys(others, said(answer))
    assert all(saying(said(answer)) in sayings(one) for one in others)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("a*b*c", "abc"), ("2**3**4", "2 3 4"), ("2 * 3 * 4", "2 3 4"), ("(.*)x(.*)", "(.)x(.)"), ("10²", "102")),
        *(("__init__", "init"), ("call __init__ and __main__", "call init and main"), ("_private", "private")),
        *(("SELECT *", "SELECT"), ("SELECT a FROM b WHERE c LIKE '*d*'", "SELECT a FROM b WHERE c LIKE 'd'")),
        *(("f(*args, **kwargs)", "f(args, kwargs)"), ("print(`a`)", "print(a)"), ('{"a": "*b*"}', '{"a": "b"}')),
        *(("rm *tmp*", "rm tmp"), ("echo `date`", "echo date"), ("*.py", "py"), ("/* a */", "/ a /")),
        *(("-5", "5"), ("- 5", "5"), ("> 5", "5"), ("# 5", "5"), ("--all", "all"), ("-- drop it", "drop it")),
        *(("C#", "C"), ("#include <a>", "include <a>"), ("~~Ada~~", "Ada"), ("5½", "51/2"), ("*", "**")),
    ],
)  # fmt: skip
def test_marks_that_mean_something_make_another_answer(one: str, other: str) -> None:
    assert said(one) != said(other)


@pytest.mark.parametrize("old", ["Paris.", "“Paris!”", "**Paris**", "**Paris.**", "`Paris`."])
def test_what_earlier_versions_stored_is_found_by_what_says_the_same(old: str) -> None:
    assert {saying(old), saying(said(old, by_program=True))} <= {*sayings("Paris"), *sayings(old)}
    assert saying(old) in sayings("Paris")
