"""Signatures: a message between workers carries one, which only who has the deployment's secret can make."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass

SIGNATURE = "memshare_signature"
"""The header of a Celery message that carries it."""


@dataclass(frozen=True)
class Signer:
    """Signs with the first of its keys, and takes the signatures of all: that is how a key is replaced."""

    keys: tuple[bytes, ...]

    def sign(self, task: str, message_id: str, journey: str, body: object) -> str:
        """HMAC-SHA-256 of what a message is, where it belongs, and what it says."""
        return _mac(self.keys[0], _canonical([task, message_id, journey, body]))

    def proves(self, signature: object, task: str, message_id: str, journey: str, body: object) -> bool:
        """Whether one of the keys made this signature for this very message."""
        if not isinstance(signature, str) or not signature.isascii():
            return False
        said = _canonical([task, message_id, journey, body])
        return any(hmac.compare_digest(_mac(key, said), signature) for key in self.keys)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """What may be told of the keys, to see whether two workers have the same."""
        return tuple(_mac(key, b"fingerprint")[:16] for key in self.keys)


def digest(body: object) -> str:
    """A short text that is the same for equal bodies, and for no others."""
    return hashlib.sha256(_canonical(body)).hexdigest()[:32]


def _mac(key: bytes, said: bytes) -> str:
    return hmac.digest(key, said, "sha256").hex()


def _canonical(value: object) -> bytes:
    """JSON in one form, however its sender wrote it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
