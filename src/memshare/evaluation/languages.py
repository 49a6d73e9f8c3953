"""The same pool asked in two languages: how often its right memory is found in each. No chat model takes part."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import NormalDist
from uuid import UUID

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from memshare.evaluation.data import Text
from memshare.evaluation.evaluate import reader_of
from memshare.evaluation.lab import SHOWN
from memshare.evaluation.result import CONFIDENCE, Interval, interval
from memshare.files.json_lines import read_objects, refuse
from memshare.operate.data_folder import connected
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Message
from memshare_memory.door.service import RecallBatches
from memshare_memory.encoders.encoder import BUNDLED, bundled_folder
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.memory import Memory, Mode, memory_id
from memshare_memory.recall.query import RecallRequest
from memshare_memory.recall.recall import Recall, vectors_of
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.open_store import open_folder
from memshare_memory.stores.store import Layout
from memshare_trainer.proof import lower_bound

ENGLISH_GERMAN = Path(__file__).parent / "english_german.jsonl"
POOL = "languages"
FEWEST = SHOWN + 1  # pairs: of fewer, all are shown

Find = Callable[[str], Sequence[UUID]]
"""The ids of the memories found for a question, best first."""


class TranslatedPair(BaseModel):
    """A line of the file: a pair, and the same in a second language. Further fields are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    prompt: Text
    answer: Text
    in_other_words: Text | None = None
    """The prompt in other words of its own language, by which the second language can be judged."""
    translated_prompt: Text
    translated_answer: Text | None = None

    @property
    def id(self) -> UUID:
        return memory_id(POOL, self.prompt, self.answer)


class Asked(Message):
    """How often the right memory was found for the questions of one language, in one way."""

    asked: str = Field(description="first language, reworded (the first in other words), or second language")
    found_by: str
    questions: int
    first: Interval = Field(description="share whose memory is ranked first (the interval is Wilson's)")
    among_three: Interval


class Likeness(Message):
    """BERTScore F1 between the answers in both languages, by the token vectors of `reader`."""

    reader: str
    answers: int
    same: Interval = Field(description="of a pair's answer and its translation")
    others: Interval = Field(description="of a pair's answer and the translation of another pair's")


class LanguagesResult(Message):
    """Results of a pool asked in two languages."""

    file: str
    memories: int
    encoder: str
    rows: tuple[Asked, ...]
    likeness: Likeness | None = Field(description="None where answers have no translation, or the encoder knows none")


def evaluate_languages(files: Sequence[Path], settings: Settings) -> LanguagesResult:
    """Ask a pool of the files' pairs in both languages; without a file, of the bundled pairs in English and German.

    Raises `BadInput` for wrong lines, and for an encoder that cannot be used.
    """
    files = files or [ENGLISH_GERMAN]
    pairs = read_pairs(files)
    again = [(pair.in_other_words, pair.id) for pair in pairs if pair.in_other_words]
    questions = {
        "first language": [(pair.prompt, pair.id) for pair in pairs],
        **({"reworded": again} if again else {}),
        "second language": [(pair.translated_prompt, pair.id) for pair in pairs],
    }
    with _ways(pairs, settings) as (encoder, ways):
        rows = tuple(
            _asked(language, name, [list(find(text)[:SHOWN]) for text, _ in asked], [right for _, right in asked])
            for language, asked in questions.items()
            for name, find in ways.items()
        )
    return LanguagesResult(
        file=", ".join(file.name for file in files),
        memories=len(pairs),
        encoder=encoder,
        rows=rows,
        likeness=_likeness(pairs, settings),
    )


def read_pairs(files: Sequence[Path]) -> list[TranslatedPair]:
    """The pairs of some files, each prompt and answer once; raises `BadInput`."""
    found = [read_objects(file, "the pair", TranslatedPair.model_validate) for file in files]
    refuse([fault for _, faults in found for fault in faults], "Nothing was asked.")
    pairs = list({pair.id: pair for lines, _ in found for _, pair in lines}.values())
    if len(pairs) < FEWEST:
        raise BadInput(f"There are {len(pairs)} pairs; expected at least {FEWEST}, as {SHOWN} are shown.")
    return pairs


@contextmanager
def _ways(pairs: Sequence[TranslatedPair], settings: Settings) -> Iterator[tuple[str, dict[str, Find]]]:
    """The encoder's name, and ways to find memories in a pool of the pairs, which exists while the block runs."""
    encoder = open_encoder(
        settings.encoder, device=settings.device, timeout=settings.model_timeout, exports=settings.exports_dir
    )
    memories = [
        Memory(id=pair.id, pool=POOL, prompt=pair.prompt, answer=pair.answer, created=time.time()) for pair in pairs
    ]
    with tempfile.TemporaryDirectory(prefix="memshare-languages-") as name:
        store = open_folder(Path(name) / "pool", Layout(encoder.name, encoder.dimension), "memshare evaluate")
        with closing(store), connected(Settings(data=Path(name), redis_url=None)) as client:
            vectors = vectors_of(encoder, memories)
            store.put(list(zip(memories, vectors, strict=True)))
            recall, dense = Recall(store, encoder, Retriever(client, encoder)), np.stack([one.dense for one in vectors])
            with closing(RecallBatches(lambda: recall)) as recalls:

                def recalled(mode: Mode) -> Find:
                    def find(text: str) -> list[UUID]:
                        wanted = RecallRequest(pool=POOL, text=text, k=SHOWN, mode=mode)
                        return [one.memory.id for one in recalls.ask(wanted).result().found]

                    return find

                def nearest(text: str) -> list[UUID]:
                    return [memories[place].id for place in np.argsort(-(dense @ recall.encode([text])[0]))]

                yield (
                    encoder.name,
                    {"recall": recalled("dense"), "hybrid recall": recalled("hybrid"), "encoder": nearest},
                )


def _asked(language: str, name: str, found: Sequence[Sequence[UUID]], right: Sequence[UUID]) -> Asked:
    pairs = list(zip(found, right, strict=True))
    return Asked(
        asked=language,
        found_by=name,
        questions=len(pairs),
        first=_share([ids[:1] == [wanted] for ids, wanted in pairs]),
        among_three=_share([wanted in ids for ids, wanted in pairs]),
    )


def _share(hits: Sequence[bool]) -> Interval:
    right, of, z = sum(hits), len(hits), NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    return Interval(mean=right / of, low=lower_bound(right, of, z), high=1 - lower_bound(of - right, of, z))


def _likeness(pairs: Sequence[TranslatedPair], settings: Settings) -> Likeness | None:
    both = [(pair.answer, pair.translated_answer) for pair in pairs if pair.translated_answer]
    if len(both) < FEWEST:
        return None
    # torch and transformers take seconds to import.
    from memshare.evaluation.judging import f1_scores

    answers, translated = [answer for answer, _ in both], [text for _, text in both]
    reader = reader_of(settings)
    same, others = (
        [
            score
            for score in f1_scores(some, translated, reader or bundled_folder(), settings.device)
            if score is not None
        ]
        for some in (answers, [*answers[1:], answers[0]])
    )
    if not same:
        return None
    return Likeness(reader=reader or BUNDLED, answers=len(same), same=interval(same), others=interval(others))
