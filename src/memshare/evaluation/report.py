"""One HTML page of all experiments in a folder, which needs nothing beside itself."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError

from memshare.evaluation.charts import draw
from memshare.evaluation.examples import Examples, choose
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.findings import Finding, findings
from memshare.evaluation.folder import Folder, Run
from memshare.evaluation.lab import Measured
from memshare.evaluation.papers import Paper
from memshare.evaluation.result import ALL, Result
from memshare.evaluation.tables import LEGEND, cells, judged_by
from memshare.files.json_lines import read_lines
from memshare.files.new_file import new_file
from memshare_broker.errors import BadInput
from memshare_broker.wire.checking import readable
from memshare_broker.wire.messages import Message

TEMPLATE = "report.html.j2"


class Written(Message):
    """The page that was written, and the experiments that are in it, that have not ended, and that were never begun."""

    file: str
    experiments: tuple[str, ...]
    unfinished: tuple[str, ...]
    not_begun: tuple[str, ...]


class Section(NamedTuple):
    """One experiment on the page."""

    result: Result
    run: Run | None
    chart: str
    """The SVG as a data URI: a browser runs no script in a picture."""
    summary: tuple[list[str], list[list[str]]]
    kinds: tuple[list[str], list[list[str]]]
    """The table again, with a row for each kind of task."""
    findings: Sequence[Finding]
    notes: Sequence[str]
    examples: Examples | None

    @property
    def headlines(self) -> list[Finding]:
        """What is found against the baseline."""
        return [one for one in self.findings if one.against and one.against.condition == self.result.baseline]


def write_report(folder: Path, out: Path, paper: Paper | None = None) -> Written:
    """Write the page of the experiments in the folders of `folder`; raises `BadInput` and then writes nothing.

    With a paper it has that one's experiments alone, and what the paper says beside what was found.
    """
    if not folder.is_dir():
        raise BadInput(f"{str(folder)!r} is no folder: give the one that `memshare evaluate --out` wrote to.")
    # Others come after those that this version knows: they were run by another one.
    others = sorted(file.parent.name for file in folder.glob("*/result.json"))
    names = paper.experiments if paper else list(dict.fromkeys([*EXPERIMENTS, *others]))
    there = [name for name in names if (folder / name).is_dir()]
    sections = {name: section for name in there if (section := _section(Folder(folder / name))) is not None}
    if not sections:
        raise BadInput(f"{str(folder)!r} holds no finished experiment: no folder in it has a result.json.")
    written = Written(
        file=str(out),
        experiments=tuple(sections),
        unfinished=tuple(name for name in there if name not in sections),
        not_begun=tuple(name for name in names if name not in there),
    )
    page = _page(sections, written, paper)
    with new_file(out) as file:
        file.write(page)
    return written


def _section(folder: Folder) -> Section | None:
    result = folder.result()
    if result is None:
        return None
    measured = list(_measured(folder.path / "items.jsonl"))
    chart = folder.path / "chart.svg"
    if not chart.exists():
        draw(result, folder.path)
    kinds = sorted({row.kind for row in result.rows} - {ALL})
    return Section(
        result=result,
        run=folder.run(),
        chart="data:image/svg+xml;base64," + base64.b64encode(chart.read_bytes()).decode(),
        summary=cells(result, [ALL]),
        kinds=cells(result, kinds),
        findings=findings(result, measured),
        notes=(*result.notes, judged_by(result)),
        examples=choose(result, measured),
    )


def _measured(file: Path) -> Iterator[Measured]:
    for number, line in read_lines(file):
        try:
            yield Measured.model_validate_json(line)
        except ValidationError as error:
            raise BadInput(f"{file}:{number}: {readable(error, 'the item')}") from error


def _page(by_name: Mapping[str, Section], written: Written, paper: Paper | None) -> str:
    sections = list(by_name.values())
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": _moment, "duration": lambda seconds: timedelta(seconds=round(seconds))}
    runs = [section.run for section in sections if section.run]
    return environment.get_template(TEMPLATE).render(
        sections=sections,
        paper=paper,
        by_name=by_name,
        # Each once, in the order in which they came.
        models=dict.fromkeys(model for section in sections for model in section.result.models),
        scorers=dict.fromkeys(section.result.scorer for section in sections),
        judges=dict.fromkeys(section.result.judge for section in sections if section.result.judge),
        began=min((run.started for run in runs), default=None),
        ended=max((run.started + run.seconds for run in runs), default=None),
        unfinished=written.unfinished,
        not_begun=written.not_begun,
        legend=LEGEND,
    )


def _moment(seconds: float) -> str:
    """A Unix time for a page that is read anywhere."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
