"""What goes wrong between the server store and Qdrant, sorted by what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from pydantic import ValidationError
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from memshare_broker.errors import GiveUp, TryAgain

_LATER = (408, 425, 429)


@contextmanager
def answering(address: str) -> Iterator[None]:
    """Turn the client's errors into `TryAgain` (no answer, overload, 5xx) or `GiveUp` (what it refuses)."""
    try:
        yield
    except ResponseHandlingException as error:
        if isinstance(error.source, ValidationError):
            raise GiveUp(f"The server at {address} is not a Qdrant server") from error
        raise TryAgain(f"Qdrant does not answer at {address}: {error.source}", reason="store") from error
    except ResourceExhaustedResponse as error:
        raise TryAgain(f"Qdrant at {address} is busy: {error}", wait=error.retry_after_s, reason="store") from error
    except (JSONDecodeError, AssertionError) as error:
        # The client asserts that a reply has a result.
        raise GiveUp(f"The server at {address} is not a Qdrant server") from error
    except UnexpectedResponse as error:
        status, words = error.status_code or 0, error.content.decode(errors="replace")[:500]
        if status in _LATER or status >= 500:
            raise TryAgain(f"Qdrant at {address} could not do it (status {status}): {words}", reason="store") from error
        raise GiveUp(f"Qdrant at {address} refused (status {status}): {words}", reason="store") from error
