"""The secret of a deployment, with which its workers sign the messages that they send each other."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr, TypeAdapter, ValidationError

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.settings.forms import Secret
from memshare_broker.wire.signing import Signer

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
