"""Text that can be kept: Python, and JSON, can hold half a character, which no file and no message can."""

from __future__ import annotations

import json

from memshare_broker.errors import BadInput


def refuse_half_characters(value: object, what: str) -> None:
    """Raises `BadInput` where a text in a JSON value holds half a character (a lone surrogate): nothing can keep it.

    Python makes one of each byte of the command line that is not UTF-8, and of an escape such as `"\\ud83d"` in JSON.
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        if 0xDC80 <= code <= 0xDCFF:
            raise BadInput(f"{what} holds the byte 0x{code - 0xDC00:02x}, which is not UTF-8.") from error
        raise BadInput(
            f"{what} holds half a character, \\u{code:04x} (a surrogate alone), which is no text."
        ) from error
