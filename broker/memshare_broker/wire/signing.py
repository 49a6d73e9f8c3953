"""Signatures: a message between workers carries one, which only who has the deployment's secret can make.

One is `TIME.MAC`, with the Unix time in seconds at which it was signed. Those of before 0.1 are the MAC alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr, TypeAdapter, ValidationError

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.settings_file import Secret

FILE = "secret"
"""Its file in a data folder, where no setting names one."""

_form: TypeAdapter[SecretStr] = TypeAdapter(Secret)


def open_signer(settings: Settings, *, make: bool = False) -> Signer:
    """The keys of this deployment: MEMSHARE_SECRET, MEMSHARE_SECRET_FILE, or the file in the data folder.

    That file is made where Redis is the folder's own, or with `make`. Raises `BadInput` that names the missing setting.
    """
    signer = find_signer(settings)
    if signer is not None:
        return signer
    if settings.redis_url is not None and not make:
        raise BadInput(
            "MEMSHARE_REDIS_URL names a Redis that several machines may share, so the messages between workers are "
            "signed by a secret that all of them have: set MEMSHARE_SECRET or MEMSHARE_SECRET_FILE to the same for "
            "every worker, for instance to what `openssl rand -hex 32` prints."
        )
    file = settings.data / FILE
    _make(file)
    return _signer(_read(file, f"The file {str(file)!r}"))


def find_signer(settings: Settings) -> Signer | None:
    """The same, or None where there is none yet; raises `BadInput` for one that cannot be used."""
    if settings.secret is not None:
        return _signer(settings.secret)
    if settings.secret_file is not None:
        return _signer(_read(settings.secret_file, f"MEMSHARE_SECRET_FILE={str(settings.secret_file)!r}"))
    file = settings.data / FILE
    return _signer(_read(file, f"The file {str(file)!r}")) if file.exists() else None


def _signer(secret: SecretStr) -> Signer:
    return Signer(tuple(key.strip().encode() for key in secret.get_secret_value().split(",")))


def _read(file: Path, what: str) -> SecretStr:
    try:
        return _form.validate_python(file.read_text().strip())
    except OSError as error:
        raise BadInput(f"{what} cannot be read: {error.strerror}.") from error
    except (ValidationError, UnicodeDecodeError):  # neither is told on: its text has the secret in it
        raise BadInput(
            f"{what} cannot be used: expected a secret of 32 characters or more, or two with a comma."
        ) from None


def _make(file: Path) -> None:
    """Write a new secret, for its owner alone, unless another process is first."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            opened.write(secrets.token_hex(32) + "\n")
        with suppress(FileExistsError):
            os.link(aside, file)
    except OSError as error:
        raise BadInput(f"The file {str(file)!r} for the secret cannot be written: {error.strerror}.") from error
    finally:
        aside.unlink(missing_ok=True)


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
        """True if one of the keys made this signature for this very message."""
        if not isinstance(signature, str) or not signature.isascii():
            return False
        at, dot, mac = signature.rpartition(".")
        said = _canonical([task, message_id, journey, body, *([at] if dot else ())])
        return any(hmac.compare_digest(_mac(key, said), mac) for key in self.keys)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Fingerprints of the keys, which may be told, to see whether two workers have the same keys."""
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
