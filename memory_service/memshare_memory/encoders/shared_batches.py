"""Encoder shared by all who ask at the same time: fair batches of texts, so that nobody keeps the others waiting."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memshare_broker.errors import GiveUp
from memshare_broker.observe import tracing
from memshare_memory.encoders.encoder import UNLIMITED, BoundedEncoder, Encoder

Work = TypeVar("Work")


class _Place(NamedTuple):
    due: float
    number: int
    owner: str
    cost: float


class FairQueue(Generic[Work]):
    """Work of several owners in the order in which it is due; not safe to share between threads.

    Work is due after its cost, once for itself and once for each piece that its owner has in the queue already. What is
    put in is due later than what was taken last, so that everything has its turn (self-clocked fair queueing, Golestani
    1994).
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[_Place, Work]] = []
        self._of: Counter[str] = Counter()
        self._clock = 0.0
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, owner: str, cost: float, work: Work) -> None:
        """Add work; its cost is over 0, in the unit of `take`."""
        self._of[owner] += 1
        self._number += 1
        place = _Place(self._clock + cost * self._of[owner], self._number, owner, cost)
        heappush(self._waiting, (place, work))

    def take(self, most: float) -> list[Work]:
        """The work that is due first: one piece, and as much more as costs no more than `most` together."""
        taken: list[Work] = []
        spent = 0.0
        while self._waiting and (not taken or spent + self._waiting[0][0].cost <= most):
            place, work = heappop(self._waiting)
            self._clock = place.due
            self._of[place.owner] -= 1
            if not self._of[place.owner]:
                del self._of[place.owner]
            spent += place.cost
            taken.append(work)
        return taken


MOST = 16  # pieces of a text; of a longer one, so many that are spread evenly over it
SPECIAL = 2  # tokens that a model puts around every text
ASCII, OTHER = 0.3, 1.0  # tokens of a character: words of four letters with a space, and scripts that are spelt out

_WORD = re.compile(r"\S+\s*|\s+")


def cut(text: str, window: int) -> list[str]:
    """The pieces of a text that an encoder reads, which reads `window` tokens at a time."""
    return spread(list(pieces(text, window - SPECIAL)))


def mean_of(parts: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector of a text from those of its pieces, of shape (pieces, dimension). One piece keeps its own."""
    if len(parts) == 1:
        return np.asarray(vectors[0])
    mean = np.average(vectors, axis=0, weights=[cost(part) for part in parts])
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def pieces(text: str, tokens: int) -> Iterator[str]:
    """The parts of a text that have at most so many tokens each, cut between words where that is possible."""
    if cost(text) <= tokens:
        yield text
        return
    piece, taken = "", 0.0
    for word in _words(text, tokens):
        needed = cost(word)
        if piece and taken + needed > tokens:
            yield piece
            piece, taken = "", 0.0
        piece += word
        taken += needed
    if piece.strip():
        yield piece


def spread(parts: Sequence[str]) -> list[str]:
    """All parts, or `MOST` of them, the first and the last among them."""
    if len(parts) <= MOST:
        return list(parts)
    return [parts[round(at * (len(parts) - 1) / (MOST - 1))] for at in range(MOST)]


def cost(text: str) -> float:
    """About how many tokens a text has, rather more than fewer."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ASCII * plain + OTHER * (len(text) - plain)


def _words(text: str, tokens: int) -> Iterator[str]:
    """The words with the white space behind them; one that is too long, as all of a Chinese text may be, is cut."""
    longest = max(1, int(tokens / OTHER) - 1)
    for found in _WORD.finditer(text):
        word = found.group()
        for start in range(0, len(word), longest):
            yield word[start : start + longest]


LARGEST_SHARED = 64  # texts

# Tokens of one batch. More are no faster on a processor, and who comes next waits until the batch is through; a server
# is asked once for a batch.
LARGEST_BATCH = 512
LARGEST_OF_SERVER = 16_384


class SharedBatches:
    """An encoder for many threads: what they ask for while one batch is encoded goes into the next ones together.

    Threads that each encode a text of their own at the same time take the processor from each other, and each text
    pays for reading the weights; in a batch they share that. What is short comes first, and each who asks has a turn. A
    text that is longer than the encoder reads is encoded in pieces, between which others have theirs.

    More than 64 texts at once are an import: they are encoded beside the others, which would have to wait for seconds
    behind them.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self.dimension = encoder.dimension
        self._encoder = encoder
        self._window = encoder.window if isinstance(encoder, BoundedEncoder) else UNLIMITED
        bounded = self._window < UNLIMITED
        self._most = max(LARGEST_BATCH, self._window) if bounded else LARGEST_OF_SERVER
        self._lock = threading.Lock()
        self._queue: FairQueue[_Piece] = FairQueue()
        self._is_encoding = False
        self._thread = ThreadPoolExecutor(1, "memshare-encoding")

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) <= LARGEST_SHARED:
            return self.begin(texts).result()
        wanted = _Wanted([cut(text, self._window) for text in texts], self.dimension)
        wanted.vectors[:] = self._encoder.encode([piece for parts in wanted.texts for piece in parts])
        return wanted.joined()

    def begin(self, texts: Sequence[str], asked_by: str = "") -> Future[NDArray[np.float32]]:
        """The vectors of some texts, of shape (len(texts), dimension), when the turn of who asks has come.

        What is cancelled before its turn is not encoded.
        """
        wanted = _Wanted([cut(text, self._window) for text in texts], self.dimension)
        if not texts:
            wanted.future.set_result(wanted.vectors)
            return wanted.future
        about = tracing.operation("embeddings", self.name) | {"gen_ai.embeddings.dimension.count": self.dimension}
        tracing.until(wanted.future, f"embeddings {about['gen_ai.request.model']}", about)
        with self._lock:
            row = 0
            for parts in wanted.texts:
                for part in parts:
                    self._queue.put(asked_by, SPECIAL + cost(part), _Piece(wanted, row, part))
                    row += 1
            if not self._is_encoding:
                self._is_encoding = True
                self._thread.submit(self._encode_all)
        return wanted.future

    def _encode_all(self) -> None:
        """Encode batch by batch until nobody waits."""
        while True:
            with self._lock:
                batch = self._queue.take(self._most)
                if not batch:
                    self._is_encoding = False
                    return
            going_on = [piece for piece in batch if piece.wanted.is_wanted()]
            if going_on:
                self._encode_batch(going_on)

    def _encode_batch(self, batch: Sequence[_Piece]) -> None:
        try:
            vectors = self._encoder.encode([piece.text for piece in batch])
        except Exception as error:  # noqa: BLE001 - handed on to everyone who waits for this batch
            owners = list({id(piece.wanted): piece.wanted for piece in batch}.values())
            if isinstance(error, GiveUp) and len(owners) > 1:
                # It may be about one text: whoever did not bring it must not fail with whoever did.
                for owner in owners:
                    self._encode_batch([piece for piece in batch if piece.wanted is owner])
                return
            for owner in owners:
                owner.future.set_exception(error)
            return
        for piece, vector in zip(batch, vectors, strict=True):
            piece.wanted.note(piece.row, vector)


def shared(encoder: Encoder) -> SharedBatches:
    """An encoder for many threads: itself, where it is one already."""
    return encoder if isinstance(encoder, SharedBatches) else SharedBatches(encoder)


class _Wanted:
    """Some texts whose vectors are wanted, each in its pieces, and the vectors of those so far."""

    def __init__(self, texts: list[list[str]], dimension: int) -> None:
        self.texts = texts
        self.future: Future[NDArray[np.float32]] = Future()
        self._missing = sum(map(len, texts))
        self.vectors = np.empty((self._missing, dimension), dtype=np.float32)

    def is_wanted(self) -> bool:
        """True if its pieces are still to be encoded; from the first piece on it cannot be cancelled."""
        return self.future.running() or (not self.future.done() and self.future.set_running_or_notify_cancel())

    def note(self, row: int, vector: NDArray[np.float32]) -> None:
        self.vectors[row] = vector
        self._missing -= 1
        if not self._missing:
            self.future.set_result(self.joined())

    def joined(self) -> NDArray[np.float32]:
        """The vectors of the texts, of shape (len(texts), dimension)."""
        if len(self.vectors) == len(self.texts):
            return self.vectors
        made, row = [], 0
        for parts in self.texts:
            made.append(mean_of(parts, self.vectors[row : row + len(parts)]))
            row += len(parts)
        return np.stack(made)


class _Piece(NamedTuple):
    """A piece of text that is encoded at once, the texts that it belongs to, and the row of its vector."""

    wanted: _Wanted
    row: int
    text: str
