"""A document is brought in as a whole, a statement for each paragraph, or it is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate

from memshare.files.pairs import read_statements
from memshare_agents.reasoning.sources.parsing import MAX_HTML, MAX_PAGES
from memshare_broker.errors import BadInput

PARAGRAPHS = [
    f"Paragraph {number} says that room {number} is closed on Mondays, and opens late." for number in range(20_000)
]


def statements(tmp_path: Path, name: str, content: str | bytes) -> list[str]:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return [one.answer for one in read_statements(tmp_path / name, "poem", "ada").pairs]


@pytest.mark.parametrize(("name", "between"), [("a.txt", "\n\n"), ("a.md", "\r\n\r\n"), ("a.html", "</p><p>")])
def test_all_of_a_long_document_is_taken(tmp_path: Path, name: str, between: str) -> None:
    assert (
        statements(tmp_path, name, f"<p>{between.join(PARAGRAPHS)}</p>" if "html" in name else between.join(PARAGRAPHS))
        == PARAGRAPHS
    )


def test_what_cannot_be_taken_as_a_whole_is_refused_with_the_limit_and_what_to_do(tmp_path: Path) -> None:
    long = io.BytesIO()
    canvas = Canvas(long)
    for _ in range(MAX_PAGES + 5):
        canvas.drawString(50, 800, "A page.")
        canvas.showPage()
    canvas.save()

    with pytest.raises(
        BadInput, match=r"505 pages: only the first 500 are read\. Split it, or save it as text \(\.txt\)"
    ):
        statements(tmp_path, "a.pdf", long.getvalue())
    with pytest.raises(BadInput, match=r"4,000,000 .*Split it, or save it as text \(\.txt\)"):
        statements(tmp_path, "a.html", "<p>words</p>" * (MAX_HTML // 12 + 9))
    with pytest.raises(BadInput, match=r"255 tags in each other"):
        statements(tmp_path, "a.html", f"<html>{'<div>Dogs stay out.' * 300}</html>")


def test_the_paragraphs_of_a_pdf_are_told_by_its_lines(tmp_path: Path) -> None:
    rules = [
        f"Rule {number}: who leaves the kitchen last switches off the oven and closes all {number} windows, and then"
        " writes down at what time they left, on the list beside the door of the pantry."
        for number in range(15)
    ]
    for style in ("Normal", "BodyText"):
        styles = getSampleStyleSheet()
        file = io.BytesIO()
        SimpleDocTemplate(file).build(
            [Paragraph("House rules", styles["Heading1"]), *(Paragraph(one, styles[style]) for one in rules)]
        )

        assert statements(tmp_path, "rules.pdf", file.getvalue()) == rules


HTML = """<html><body><nav>Home</nav><h1>Rules</h1><p>The house <b>opens</b><br>at seven.</p><p hidden>Obey.</p>
<h2>Prices</h2>
<table><tr><th>What</th><th>Price</th></tr><tr><td><p>T<i>ea</i></p></td><td><p>2</p><p>euros</p></td></tr></table>
<table><tr><td>Height</td><td>41 m</td></tr></table>
<p>Bring along:</p><ul><li>tea</li><li>sugar</li></ul><h3>Kitchen</h3><ol><li>Switch off the oven.</li><li><p>Close the
<i>window</i>.</p></li></ol><article><div>In an article.</div></article></body></html>"""
MARKDOWN = """# Rules

The house opens
at seven.

## Prices
| What | Price |
|---|---|
| Tea | 2 euros |

---

Bring along:
- tea
- sugar

### Kitchen
- Switch off the oven.
* Close the
  window.
"""


def test_rows_and_items_are_statements_and_headings_and_rulers_are_none(tmp_path: Path) -> None:
    opens, tea, bring = "The house opens at seven.", "What: Tea; Price: 2 euros", "Bring along: - tea - sugar"
    items = ["Switch off the oven.", "Close the window."]

    assert statements(tmp_path, "a.md", MARKDOWN) == [opens, tea, bring, *items]
    assert statements(tmp_path, "a.html", HTML) == [opens, tea, "Height | 41 m", bring, *items, "In an article."]
    assert statements(tmp_path, "b.html", "<ul><li>Dogs stay out.</li></ul>") == ["Dogs stay out."]
    assert statements(tmp_path, "c.html", "<html><h1>Rules</h1><ul><li>Dogs stay out.</li></ul></html>") == [
        "Dogs stay out."
    ]


def test_a_number_at_the_start_of_a_line_begins_an_item_only_where_a_list_can_begin(tmp_path: Path) -> None:
    text = "The pool opens on May\n10. It closes in fall.\n\nRules:\n1. No dogs.\n2. No cats.\n"

    assert statements(tmp_path, "a.txt", text) == [
        "The pool opens on May 10. It closes in fall.",
        "Rules:",
        "1. No dogs.",
        "2. No cats.",
    ]
