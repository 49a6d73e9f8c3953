"""Names in two texts: whether one has another name, day or month where the other one has its own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from memshare_memory.stores.bm25 import tokens

_DAYS = frozenset(
    tokens(
        "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag "
        "sonntag january february april june july august september october november december januar februar märz juni "
        "juli oktober dezember"
    )
)
"""Days and months, but for those that are words of other kinds, too."""
_TITLES = frozenset(tokens("dr frau herr herrn miss mr mrs ms prof professor sir"))
_LITTLE = frozenset(
    tokens(
        "a am an and at auf bei beim by das dem den der die durch for from has im in is ist it of on or she the they "
        "to und vom von was with zu zum zur"
    )
)
_ARTICLES = frozenset(tokens("a an her his my our the their your"))
_GERMAN = frozenset(tokens("auf beim das dem den der eine einen im ist mit nicht sind und vom werden wird zum zur"))
_WHO = frozenset(tokens("who whom whose wer wem wen"))
_SENTENCE = re.compile(r"[.!?;](?=\s|$)|[\n\"“”„»«(•]")
_WORD = re.compile(r"\w+")
_Place = tuple[str, ...]


def names_another(answer: str, text: str, prompt: str, asked: str) -> bool:
    """True if an answer to a prompt names another one where a text does, beside the same words.

    Names are told by capitals, so the first words of sentences are none, nor are most German nouns. Those of the prompt
    tell nothing; a text that was `asked` for others names others.
    """
    ours, theirs = _by_place(answer, prompt), _by_place(text, prompt)
    if not (both := ours.keys() & theirs.keys()):
        return False
    here, there, known = (frozenset(map(_stem, tokens(each))) for each in (answer, text, prompt))
    if not names_in(asked, prompt) <= known:
        return False
    return any(
        there.isdisjoint(ours[at])
        and here.isdisjoint(theirs[at])
        and (not known.issuperset(ours[at]) or known.issuperset(theirs[at]))
        and not any(_is_same(*sorted(two, key=len)) for two in product(_spelt(ours[at]), _spelt(theirs[at])))
        for at in both
    )


def names_in(text: str, prompt: str) -> set[str]:
    """The names in a text that answers a prompt."""
    return {name for names in _by_place(text, prompt).values() for name in names}


def _is_same(short: str, name: str) -> bool:
    """True if one is the other one, inflected or abbreviated: "German" and "Germany", "UK" and "UnitedKingdom"."""
    letters = iter(name)
    is_abbreviated = len(short) <= 3 and short[0] == name[0] and all(letter in letters for letter in short)
    return name.startswith(short) or is_abbreviated


def _spelt(names: Iterable[str]) -> list[str]:
    return [*names, "".join(names)]


@lru_cache(maxsize=64)
def _by_place(text: str, prompt: str) -> dict[_Place, dict[str, None]]:
    """The names of a text by the word beside them that tells something, or two words, or any one of the same kind."""
    found = defaultdict[_Place, dict[str, None]](dict)
    asked, is_german = tokens(prompt), not _GERMAN.isdisjoint(tokens(text))
    who = asked[1] if len(asked) > 1 and asked[0] in _WHO else ""
    for part in () if text.isupper() else _SENTENCE.split(text):
        written = _WORD.findall(part)
        words = [_stem(word.casefold()) for word in written]
        is_name = [_is_name(written, at, who, is_german=is_german) for at in range(len(words))]
        for at, end in _rows(is_name):
            kind = "day" if words[at] in _DAYS else "who" if who else ""
            before, after = words[max(at - 2, 0) : at][::-1], words[end : end + 2]
            for side, beside in (("<", before), (">", after), ("<>", [*before[:1], *after[:1]])):
                is_told = beside and (beside[0] not in _LITTLE or kind)
                if is_told and side != "<>":
                    found[kind, side, beside[0]] |= dict.fromkeys(words[at:end])
                if len(beside) == 2:
                    found[kind, side, *beside] |= dict.fromkeys(words[at:end])
    return found


def _rows(is_name: list[bool]) -> list[tuple[int, int]]:
    """The places of names, all in a row and each after another one alone: the first, and that after the last."""
    begins = [at for at, is_one in enumerate(is_name) if is_one]
    ends = [at + 1 if at and is_name[at - 1] else [*is_name, False].index(False, at) for at in begins]
    return [*zip(begins, ends, strict=True)]


def _is_name(written: list[str], at: int, who: str, *, is_german: bool) -> bool:
    word, beside = written[at], [*written[max(at - 1, 0) : at], *written[at + 1 : at + 2]]
    plain = word.casefold()
    if _stem(plain) in _DAYS:
        return True
    if not word[0].isupper() or len(word) < 2 or plain in _LITTLE | _TITLES or any(one[0].isdigit() for one in beside):
        return False
    if at and written[at - 1].casefold() in _ARTICLES:  # "the Manager", "our Front Desk"
        return False
    if at == 0:
        return bool(who) and written[1:2] == [who] and not plain.endswith("s")
    return not is_german or any(one[0].isupper() for one in (*written[max(at - 1, 1) : at], *written[at + 1 : at + 2]))


def _stem(word: str) -> str:
    return word.rstrip("s") or word
