"""Which of the memories that it was shown an answer follows: by the words that they have in common."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from functools import lru_cache, reduce
from itertools import pairwise, product, takewhile
from uuid import UUID

from memshare_broker.wire.messages import Shown
from memshare_memory.memory import FORMAL, Memory
from memshare_memory.stores.bm25 import tokens

LEAST_FOLLOWED = 0.3  # share of a memory's answer; with less in common nobody can say that it was followed
MOST_WITH_NUMBERS, MOST_WORDS = 0.5, 0.66  # of a pair's words, with all its numbers, and of one without any
RUN = 3  # words in a row
_SPACES = " \u00a0\u2009\u202f"
_THOUSANDS = re.compile(rf"(?<=\d)(?<!\d{{4}})(?<!\b0)[.,'{_SPACES}](?=\d{{3}}(?!\d))")
_PAIRS = re.compile(rf"(?<![\d.,:+])\d\d(?:[{_SPACES}]\d\d){{2,}}(?![.,:]?\d)")  # of digits, as of a telephone
_UNIT = re.compile(r"(?<=\d)(?=[^\W\d])")
_PART = re.compile(r"(?<=\d)[.,:](?=\d{1,2}(?![.,:]?\d))|(?<=\b0)[.,](?=\d)")  # before cents, or minutes
_TIME, _SIGN_FIRST = re.compile(r"(?<!\d)(\d\d?:\d\d)(?!\d)"), re.compile(r"([€$£¥])\s?(\d+(?:[.,]\d+)*)")
_SENTENCE = re.compile(r"[.!?;:](?=\s|$)|[\n\"“”„»«(•]")
_ASKS_FOR = re.compile(r"(?i)\b(how|wh(at|en|ere|ich|om?|ose|y)|w(ann|arum|as|elche.?|e[mnr]|ie|o(her|hin|mit)?))\b")
_SIGNS = str.maketrans({"€": " euro ", "$": " dollar ", "£": " pound ", "¥": " yen ", "%": " percent "})
_CLOCK = "oclock"
_SAME = {"eur": "euro", "usd": "dollar", "gbp": "pound", "jpy": "yen", "chf": "franc"}
_SAME |= dict.fromkeys(("am", "pm", "uhr"), _CLOCK)
_UNITS = frozenset(("euro", "dollar", "pound", "franc", "yen", "cent", "percent", _CLOCK))
_NAMED = frozenset(
    tokens(
        "article bus chapter day floor flight gate house line number page platform room route section step table track "
        "train tram january february march april june july august september october november december"
    )
)
"""Words before the number that they name."""
_SAYS_LITTLE = frozenset(
    tokens(
        "a about after all also am an and any are as at be been before but by can could did do does each for from give "
        "had has have he her him his how i if in into is it its just ll m make me more most much must my oclock of on "
        "only or other our over per re s same shall she should so some such t tell than that the their them then there "
        "these they this those till to until ve very was we were what when where which while who whom whose why will "
        "with would write yes you your above because below beneath being during inside onto since under within without "
        "auch auf aus bei beim das dem den der des die dort du durch ein eine einem einen einer er es für gleich haben "
        "hier ich ihr ihre im ist ja mit nach nur oder sein seine sich sie sind und unser unsere vom von vor wenn wer "
        "werden wie wird wir wo zu zum zur über"
    )
)
"""Words that are in most texts, whatever these are about."""
_TURNS = frozenset(tokens("above after before below in on with without mit nach ohne vor"))  # one turns another round
_NOT = frozenset(["not", "never", "cannot", "t", "nicht", "nie", "kein", "keine", "keinen"])  # "t" as in "isn't"
_NO, _YES = _NOT | {"no", "nein"}, {"yes", "ja"}
_MOST_AT = 20  # words of a text in one place; a word that stands before more of them tells nothing of these
_SHORT = 6  # words that tell something; with fewer a pair is followed as a statement is
_NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_IN_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS.split(), 2)}


def followed(answer: str, shown: Sequence[str]) -> int | None:
    """The place of the shown answer that was followed, of equal ones the first; None where none was."""
    shares = shares_in_common(answer, shown)
    best = max(shares, default=0.0)
    return shares.index(best) if best >= LEAST_FOLLOWED else None


def contradicts(answer: str, memory: Memory, prompt: str) -> bool:
    """True if an answer to a prompt repeats a memory with another word in it, and follows nothing of it.

    An example of a form is not contradicted by an answer of that form with other names and numbers.
    """
    text = memory.answer
    is_other = not _is_example(memory, text, prompt) and _kept(answer, text, memory, prompt)[0] != text
    return is_other and shares_in_common(answer, [text])[0] > 0 and not follows(answer, memory, prompt)


def follows(answer: str, memory: Memory, prompt: str) -> bool:
    """True if an answer to a prompt follows a memory, as that is or was.

    It follows a statement, in other words too, by a word that the prompt does not have; where one of them has no such
    word, by all words of the answer, or of the statement, or "yes" or "no", if what the statement says is asked. It
    follows a pair by its runs of words, or by all words that the prompt does not have, or most and all numbers.
    Neither is followed where the answer has other numbers, or another one beside the same word, but for a pair that
    answers a prompt with others; nor in a sentence where it has another word in the same place. A number that is all
    they have in common has the same unit in both, or none in one of them.
    """
    said = telling(answer).keys()

    def is_followed(text: str) -> bool:
        kept, known = _kept(answer, text, memory, prompt)
        new = telling(kept).keys() - telling(known).keys() - _NO
        common, says_so = new & said, _says_so(answer, kept, known)
        if not memory.is_statement and kept:
            is_short = len(telling(kept)) < _SHORT and not _is_formal(kept)
            by_runs = not is_short or _is_of_others(memory, prompt) or bool(common if new else says_so)
            is_copied = by_runs and followed(answer, [kept]) is not None  # else they repeat the question
            return is_copied or _says_all(answer, kept, memory, known) or bool(_part_said(answer, kept, memory, known))
        return says_so or bool(common - _numbers(kept) or common & _same_numbers(answer, kept))

    return any(map(is_followed, _texts(memory)))


def _kept(answer: str, text: str, memory: Memory, prompt: str) -> tuple[str, str]:
    """The part of a memory's text that an answer does not contradict; and the prompt, with what it contradicts."""
    if _denies(answer, text, prompt) and (memory.is_statement or not _is_of_others(memory, prompt)):
        return "", prompt
    if _is_example(memory, text, prompt):
        return text, prompt
    unlike = _unlike(answer, text, prompt)
    kept = reduce(lambda left, part: left.replace(part, ""), unlike, text)
    return (kept if not unlike or tokens(kept) else ""), " ".join((prompt, *unlike))


def _is_example(memory: Memory, text: str, prompt: str) -> bool:
    """True if a memory's text shows a form: a program reads it, or it answers a prompt that asks for something else."""
    return _is_formal(text) or (memory.prompt is not None and bool(_unlike(prompt, memory.prompt, "")))


def _unlike(answer: str, text: str, prompt: str) -> list[str]:
    """The sentences of a text to which an answer says something else: it has another word in the same place.

    A place is after a word (where they have no number in common), or two, or between two, and none with a number. Words
    of the prompt tell nothing there, unless it asks if that is so, and the answer does not begin with "yes". Nor does
    another form of the word, or what it is short for: "UK" and "United Kingdom".
    """
    texts = answer, text, prompt, " ".join((_SAYS_LITTLE | _NO) - _TURNS)
    ours, (here, there, asked, little) = _places(answer), ({*_stems(one)} for one in texts)
    is_asked = ("?" in prompt or there <= asked | little) and not _ASKS_FOR.search(prompt)
    known = little if is_asked and _YES.isdisjoint(tokens(answer)[:1]) else asked | little
    least = 2 if _same_numbers(answer, text) - asked else 1

    def is_other(at: tuple[str, ...], theirs: Mapping[str, Sequence[str]]) -> bool:
        both = ours.get(at, {}), theirs
        is_told = len(at) >= least and max(map(len, both)) <= _MOST_AT
        words = ({form for one in each.keys() - known for form in each[one]} for each in both)
        return is_told and here.isdisjoint(theirs) and there.isdisjoint(both[0]) and _differ(*words)

    return [part for part in _SENTENCE.split(text) if any(is_other(*place) for place in _places(part).items())]


@lru_cache(maxsize=64)
def _places(text: str) -> dict[tuple[str, ...], dict[str, Sequence[str]]]:
    """The words of a text by the one before them, by two, and by those around; each alone, and with the next as one."""
    found = defaultdict[tuple[str, ...], dict[str, Sequence[str]]](dict)
    for part in _SENTENCE.split(text):
        words = ["", "", *_stems(part), ""]
        for two, one, word, after in zip(words, words[1:], words[2:], words[3:], strict=False):
            if not any(each[:1].isdigit() for each in (one, word, after)):
                for at in filter(any, ((one,), (two, one), (one, after, ""))):
                    found[at][word] = word, word + after
    return found


def share_in(answer: str, memory: Memory, prompt: str) -> float:
    """How much of what a memory says an answer to a prompt has that follows it: of a pair all, also in other words."""
    if not memory.is_statement and _says_all(answer, memory.answer, memory, prompt):
        return 1.0
    return max(shares_in_common(answer, [memory.answer])[0], _part_said(answer, memory.answer, memory, prompt))


def _part_said(answer: str, text: str, pair: Memory, prompt: str) -> float:
    """The part of a pair's words beyond the prompt that an answer has: most, with all numbers; else 0."""
    new, said = telling(text).keys() - telling(prompt).keys() - _NO, telling(answer).keys()
    numbers = _numbers(text) & new
    if pair.is_statement or _is_formal(text) or _is_of_others(pair, prompt) or _denies(answer, text, prompt):
        return 0.0
    words = new - numbers - {unit for each in numbers for unit in _units(text)[each] & _UNITS}
    part = len(words & said) / max(len(words), 1)
    is_whole = numbers <= _same_numbers(answer, text) and (numbers or len(_words(text)) >= _SHORT)
    return part if is_whole and part >= (MOST_WITH_NUMBERS if numbers else MOST_WORDS) else 0.0


def _says_all(answer: str, text: str, pair: Memory, prompt: str) -> bool:
    """True if an answer says all that the text of a pair tells beyond the prompt, with the same numbers.

    A number alone says nothing where the pair answers a prompt with others. A short text that tells no more than the
    prompt, as "Yes." or a name in it, is followed where that asks the same.
    """
    asked, said, own = telling(prompt).keys() | _NO, telling(answer).keys(), telling(text).keys()
    if _is_formal(text) or (_denies(answer, text, prompt) and not _is_of_others(pair, prompt)):
        return False
    numbers, same = _numbers(text), _same_numbers(answer, text)
    if new := own - asked:
        units = {unit for each in same for unit in _units(text)[each]}
        is_told = (new - units or new) - numbers <= said and new & numbers <= same
        return is_told and not (_is_of_others(pair, prompt) and new <= numbers | units)
    return len(own) < _SHORT and telling(pair.prompt or "").keys() <= asked and _says_so(answer, text, prompt)


def _says_so(answer: str, text: str, prompt: str) -> bool:
    """True if an answer says all of a text, or a part and no more than the prompt, or yes or no where that asks it."""
    asked, said, own = (telling(one).keys() - _NO for one in (prompt, answer, text))
    says_no, is_no, asks_no = map(_says_no, (answer, text, prompt))
    if said and own and (own <= said or (said <= own & asked and is_no >= says_no)):
        return True
    is_so = says_no == is_no or (is_no and asks_no and bool(own))
    is_told = not (_YES | _NO).isdisjoint(tokens(answer)[:1]) or (said <= asked and not (said and own))
    return bool(text) and own <= asked and is_so and is_told


def _is_formal(text: str) -> bool:
    """True if a program reads it, unless it is a word or two, as a name of a command is."""
    return (len(tokens(text)) >= RUN or text.lstrip().startswith(("{", "["))) and FORMAL.search(text) is not None


def _is_of_others(memory: Memory, prompt: str) -> bool:
    """True if a memory answers a prompt with other numbers."""
    return bool(_numbers(memory.prompt or "") - telling(prompt).keys())


def _says_no(text: str) -> bool:
    return not _NO.isdisjoint(words := _words(text)) and words[0] not in _YES


def _denies(answer: str, text: str, prompt: str) -> bool:
    """True if each has numbers that the other has nowhere, beside a word of both or else of all that are told.

    A number of the prompt tells nothing by itself: who repeats the year that was asked for has said no other one. Or,
    where they have no number in common, if one says "not" before a word of both: "are not allowed", "are allowed". Or
    if the answer begins with "no", and the text says no more than what was asked, or that and the answer other words.
    """
    asked, here, there = map(_numbers, (prompt, answer, text))
    if here and there and (here - asked or there <= asked) and here.isdisjoint(there - asked or there):
        return True
    asks, said, own = (telling(one).keys() - _NO for one in (prompt, answer, text))
    if here.isdisjoint(there) and (_denied(answer) ^ _denied(text)) & said & own:
        return True
    is_asked = own <= asks or (asks <= own and said - own)
    if is_asked and tokens(answer)[:1] in (["no"], ["nein"]) and not _says_no(f"{text} {prompt}"):
        return True
    ours, theirs, named = _units(answer), _units(text), _UNITS | _NAMED
    if (both := here & there) and all(_differ(ours[each] & named, theirs[each] & named) for each in both):
        return True
    same, by, others = _same_numbers(answer, text), _by_word(answer), _by_word(text)
    return any(same.isdisjoint(by[at] | others[at]) for at in by.keys() & others.keys())


def _differ(units: Set[str], others: Set[str]) -> bool:
    """True if each is there, and none of one is one of the others, or a form of it, or short for it, as "km" is."""
    return bool(units and others) and not any(_is_short(*sorted(two, key=len)) for two in product(units, others))


def _is_short(unit: str, whole: str) -> bool:
    letters = iter(whole)
    return whole.startswith(unit[:5]) or (
        len(unit) <= 3 and unit[0] == whole[0] and all(letter in letters for letter in unit)
    )


def _same_numbers(answer: str, text: str) -> set[str]:
    """The numbers of two texts that have the same unit, or none in one of them: "17", "17 euros"."""
    ours, theirs = _units(answer), _units(text)
    return {each for each in ours.keys() & theirs.keys() if not _differ(ours[each], theirs[each])}


@lru_cache(maxsize=64)
def _units(text: str) -> Mapping[str, set[str]]:
    """The numbers of a text, each with up to two words that follow it at once, or what is named by it."""
    found = defaultdict[str, set[str]](set)
    for part in re.split(r"[.,;:!?()\n]", _plain(text)):
        words = _read(part)
        for at, word in enumerate(words):
            if word[0].isdigit():
                after = [*takewhile(lambda one: one == _CLOCK or one not in _SAYS_LITTLE, words[at + 1 : at + 3])]
                named = [one for one in words[max(at - 1, 0) : at] if one in _NAMED | _UNITS]
                found[_stem(word)].update(_stem(one) for one in (*after, *named) if not one[0].isdigit())
    return found


def _denied(text: str) -> set[str]:
    """The words that tell something and of which each stands after a "not"."""
    words = _words(text.casefold().replace("not only", ""))
    told = [_stem(word) for word in words if word in _NOT or word not in _SAYS_LITTLE]
    after = [word for one, word in pairwise(told) if one in _NOT]
    return {word for word in after if told.count(word) == after.count(word)}


def _numbers(text: str) -> set[str]:
    return {word for word in telling(text) if word[0].isdigit()}


def _by_word(text: str) -> dict[tuple[str, bool], set[str]]:
    """The numbers of a text by the word after them, or before."""
    found = defaultdict[tuple[str, bool], set[str]](set)
    for one, other in pairwise(_stems(text)):
        for number, word, is_after in ((one, other, True), (other, one, False)):
            if number[0].isdigit():
                found[word, is_after].add(number)
    return found


def _texts(memory: Memory) -> list[str]:
    return [memory.answer, *(one.answer for one in memory.history)]


def that_count(
    answer: str,
    prompt: str,
    shown: Mapping[UUID, Shown],
    there: Mapping[UUID, Memory],
    contradicting: Collection[UUID] = (),
) -> list[UUID]:
    """The memories shown that a word on an answer is about: with a share in it, or that it follows, or gone.

    It follows none that is known to contradict what was kept of it.

    Where nobody judged shares, one does not count if every word that it has in common with the answer is also in
    another that has more of them, and that the answer follows or that has all its words: "an adult pays 12 euros" has
    nothing of "14 euros" but what "an adult pays 14 euros" has, too. A pair of which the answer says all counts beside
    all that were asked something less near.
    """
    known = {name: there[name] for name, one in shown.items() if one.share is None and name in there}
    rivals = {name: one for name, one in known.items() if name not in contradicting and follows(answer, one, prompt)}

    def is_lost(name: UUID, one: Memory) -> bool:
        is_said = not one.is_statement and _says_all(answer, one.answer, one, prompt)
        others = (rivals[by] for by in rivals if not is_said or shown[by].similarity >= shown[name].similarity)
        return any(says_rather(answer, other, one, prompt) for other in others)

    lost = {name for name, one in rivals.items() if is_lost(name, one)}
    return [name for name, one in shown.items() if (name in rivals.keys() - lost if name in known else one.share != 0)]


def says_rather(answer: str, memory: Memory, than: Memory, prompt: str) -> bool:
    """True if an answer to a prompt has in common with a memory all words that it has `than` with another one, and more
    that the prompt does not have.

    Or all numbers, and more, where both are about a word of it, and the other one has a number that it has not.
    """
    own, texts, others = telling(answer).keys(), _texts(memory), _texts(than)
    common, less = (max((own & telling(t).keys() for t in of), key=len) for of in (texts, others))
    is_more = less < common and not common - less <= telling(prompt).keys()
    if is_more and (common == own or followed(answer, texts) is not None):
        return True
    numbers = _numbers(answer)
    is_denied = all(_numbers(text) - own for text in others)
    return is_denied and less & numbers < common & numbers and bool((less & common) - numbers)


def says_as_now(memory: Memory, before: Memory, now: Memory) -> bool:
    """True if a memory says nothing of another's text `before` that this does not say `now`, nor denies that.

    Of a statement that did not only get more words it also has to say what only that text has: another may leave out
    what is new.
    """
    own, old, new = (telling(one.answer).keys() for one in (memory, before, now))
    runs, then, still = map(_runs, (memory.answer, before.answer, now.answer))
    if own & old - new or runs & then - still or _denies(memory.answer, now.answer, memory.prompt or ""):
        return False
    got_more = old <= new and _says_no(before.answer) == _says_no(now.answer)
    return not before.is_statement or got_more or bool(own & new - old)


def telling(text: str) -> dict[str, str]:
    """The words of a text that say what it is about, by what they are without the s of a plural."""
    words = (word for word in _words(text) if word not in _SAYS_LITTLE)
    return {_stem(word): word.replace("_", ".") if word[0].isdigit() else word for word in words}


def _words(text: str) -> list[str]:
    """The words of a text, each number in digits and apart from its unit, without the marks of thousands."""
    return _read(_plain(text))


@lru_cache(maxsize=64)
def _stems(text: str) -> tuple[str, ...]:
    return (*map(_stem, _words(text)),)


def _plain(text: str) -> str:
    """A text with words for signs after their numbers, and each number as one word: "$1,017.50", "1017_50 dollar"."""
    text = text.casefold().replace("per cent", "%").replace("us$", "$").replace("’", "'").replace("o'clock", _CLOCK)
    text = _THOUSANDS.sub("", _PAIRS.sub(lambda found: "".join(found[0].split()), text))
    text = _TIME.sub(rf"\1 {_CLOCK}", _SIGN_FIRST.sub(r"\2\1", text))
    return _PART.sub("_", _UNIT.sub(" ", text)).translate(_SIGNS)


def _read(plain: str) -> list[str]:
    return [_SAME.get(word, _IN_DIGITS.get(word, word)) for word in tokens(plain)]


def _stem(word: str) -> str:
    if not word[0].isdigit():
        return word.rstrip("s") or word
    whole, mark, part = word.partition("_")
    return (whole.lstrip("0") or "0") + (mark + part).rstrip("0_")


def shares_in_common(answer: str, shown: Sequence[str]) -> list[float]:
    """Of each shown answer, the share of its runs of words that stand in the answer, too."""
    runs = _runs(answer)
    return [len(of & runs) / len(of) if (of := _runs(text)) else 0.0 for text in shown]


@lru_cache(maxsize=64)  # an answer and what it was shown are compared for its credit, its parents, and how near it was
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """All runs of `RUN` words; a shorter text is one run."""
    words = tokens(text)
    return frozenset(tuple(words[at : at + RUN]) for at in range(max(len(words) - RUN + 1, min(len(words), 1))))
