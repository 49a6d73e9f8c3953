"""What a person filled in: the fields of a form, in either of the two ways in which browsers send them."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

from memshare.doors.body import LARGEST_BODY, with_body


async def filled_in(request: Request, body: bytes) -> list[tuple[str, str]]:
    """The fields of a form, and the texts of its files, with the line ends that texts have everywhere else."""
    if request.headers.get("content-type", "").startswith("multipart/"):
        async with Request(request.scope, with_body(body, request.receive)).form(max_part_size=LARGEST_BODY) as form:
            pairs = [
                (name, one if isinstance(one, str) else (await one.read()).decode()) for name, one in form.multi_items()
            ]
    else:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=2_000)
    return [(name, text.replace("\r\n", "\n")) for name, text in pairs]
