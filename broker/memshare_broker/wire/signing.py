"""Signatures: a message between workers carries one, which only who has the deployment's secret can make.

One is `TIME.MAC`, with the Unix time in seconds at which it was signed. Those of before 0.1 are the MAC alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass

SIGNATURE = "memshare_signature"
"""The header of a Celery message that carries it."""


@dataclass(frozen=True)
class Signer:
    """Signs with the first of its keys, and takes the signatures of all: that is how a key is replaced."""

    keys: tuple[bytes, ...]

    def sign(self, task: str, message_id: str, journey: str, body: object) -> str:
        """The time, and HMAC-SHA-256 of it with what a message is, where it belongs, and what it says."""
        at = str(int(time.time()))
        return f"{at}.{_mac(self.keys[0], _canonical([task, message_id, journey, body, at]))}"

    def proves(self, signature: object, task: str, message_id: str, journey: str, body: object) -> bool:
        """Whether one of the keys made this signature for this very message."""
        if not isinstance(signature, str) or not signature.isascii():
            return False
        at, dot, mac = signature.rpartition(".")
        said = _canonical([task, message_id, journey, body, *([at] if dot else ())])
        return any(hmac.compare_digest(_mac(key, said), mac) for key in self.keys)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """What may be told of the keys, to see whether two workers have the same."""
        return tuple(_mac(key, b"fingerprint")[:16] for key in self.keys)


def signed_at(signature: str) -> float:
    """When a signature that was proven was made, as Unix time in seconds; 0 where it does not say so."""
    return float(signature.rpartition(".")[0] or 0)


def digest(body: object) -> str:
    """A short text that is the same for equal bodies, and for no others."""
    return hashlib.sha256(_canonical(body)).hexdigest()[:32]


def _mac(key: bytes, said: bytes) -> str:
    return hmac.digest(key, said, "sha256").hex()


def _canonical(value: object) -> bytes:
    """JSON in one form, however its sender wrote it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
