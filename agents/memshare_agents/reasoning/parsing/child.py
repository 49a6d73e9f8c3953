"""The process that takes HTML and PDF apart, page after page."""

from __future__ import annotations

from memshare_broker.child_processes.serving import Request, limit_time, serve


def read(asked: Request, data: bytes) -> dict[str, object]:
    """Title and text of a page, within its seconds of processor time."""
    source, most, charset = str(asked["source"]), int(str(asked["most"])), asked["charset"]
    seconds = float(str(asked["seconds"]))
    if asked["kind"] == "pdf":
        from memshare_agents.reasoning.parsing.pdf_text import pdf_text

        limit_time(seconds)
        title, text = pdf_text(source, data, most)
    else:
        from memshare_agents.reasoning.parsing.html_text import html_text

        limit_time(seconds)
        title, text = html_text(data.decode(str(charset), "replace") if charset else data)
    return {"title": title[:most], "text": text[:most]}


if __name__ == "__main__":
    serve(read)
