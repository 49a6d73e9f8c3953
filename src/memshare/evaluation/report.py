"""An HTML page of all experiments in a folder, which needs no other file."""

from __future__ import annotations

import base64
import math
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import matplotlib
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pydantic import ValidationError

from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.folder import Folder, RunCost
from memshare.evaluation.lab import Measured
from memshare.evaluation.papers import Paper, beside
from memshare.evaluation.result import ALL, LEGEND, ExperimentResult, Interval, cells, judged_by, p_text
from memshare.files.json_lines import read_lines
from memshare.files.new_file import new_file
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import readable
from memshare_broker.wire.messages import Message

# From the palette of Okabe and Ito, which people see apart whatever colours they can see.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
PLAIN = "#999999"  # the baseline
WIDTH, HEIGHT = 9.0, 3.9  # inches
DOTS = 200  # per inch of the PNG
WRAP = 18  # letters
NO_SCORE = Interval.model_construct(mean=math.nan, low=math.nan, high=math.nan)  # leaves a gap


def draw(result: ExperimentResult, folder: Path) -> None:
    """Write `chart.svg` and `chart.png` into a folder, in place of those that were there.

    A chart has a line or bar of each condition, of several models for each of them; bars of one model also by kind.
    """
    several = len(result.models) > 1
    grouped = not result.by_phase and not several
    rows = [row for row in result.rows if grouped or row.kind == ALL]
    series: dict[tuple[str, str], dict[str, Interval]] = {}
    for row in rows:
        group = row.phase if result.by_phase else row.kind if grouped else row.model
        name = f"{row.condition}, {row.model}" if several and result.by_phase else row.condition
        series.setdefault((row.condition, name), {})[group] = row.score or NO_SCORE
    groups = list(dict.fromkeys(group for values in series.values() for group in values if group))
    # The same result gives the same bytes, and a `$` in a model's name is no formula.
    with matplotlib.rc_context({"svg.hashsalt": "memshare", "text.parse_math": False, "font.size": 9}):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for number, ((condition, name), values) in enumerate(series.items()):
            colour = PLAIN if condition == result.baseline else COLOURS[number % len(COLOURS)]
            label, found = textwrap.fill(name, WRAP), [values.get(group, NO_SCORE) for group in groups]
            errors = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
            if result.by_phase and condition == result.baseline:  # it has no phase
                axes.axhline(values[""].mean, color=COLOURS[number % len(COLOURS)], linestyle="--", label=label)
            elif result.by_phase:
                means = [one.mean for one in found]
                axes.errorbar(groups, means, yerr=errors, color=colour, label=label, marker="o", capsize=2)
            else:
                width = 0.8 / len(series)
                places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(groups))]
                means = [one.mean for one in found]
                axes.bar(places, means, width * 0.92, color=colour, label=label, yerr=errors, capsize=2)
        axes.set_xticks(range(len(groups)), [textwrap.fill(group, WRAP) for group in groups])
        axes.set(title=result.title, ylabel="score of 100, mean and 95 % interval", ylim=(0, 100))
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False)
        for file, more in (
            ("chart.svg", {"metadata": {"Date": None, "Creator": None}}),
            ("chart.png", {"metadata": {"Software": None}, "dpi": DOTS}),
        ):
            with new_file(folder / file) as out:
                figure.savefig(out.buffer, format=Path(file).suffix[1:], **more)


TEMPLATE = "report.html.j2"
CLEAR_BELOW = 0.05  # p of a difference that is called one


class WrittenReport(Message):
    """The page that was written, and the experiments that are in it, that have not ended, and that were never begun."""

    file: str
    experiments: tuple[str, ...]
    unfinished: tuple[str, ...]
    not_begun: tuple[str, ...]


class Finding(NamedTuple):
    """A gain over the baseline as a sentence without its full stop, and the verdict that ends it."""

    text: str
    verdict: str


class ExamplePair(NamedTuple):
    """The same task at the baseline and in another cell. `why` is the part of the rule by which it is here."""

    why: str
    before: Measured
    after: Measured

    @property
    def gain(self) -> float:
        return self.after.points - self.before.points


class Section(NamedTuple):
    """An experiment on the page."""

    result: ExperimentResult
    run: RunCost | None
    chart: str
    """The SVG as a data URI: a browser runs no script in a picture."""
    summary: tuple[list[str], list[list[str]]]
    kinds: tuple[list[str], list[list[str]]]
    """The table again, with a row for each kind of task."""
    findings: Sequence[Finding]
    notes: Sequence[str]
    rule: str
    """How the examples were chosen; empty where nothing can be compared."""
    examples: Sequence[ExamplePair]


def write_report(folder: Path, out: Path, paper: Paper | None = None) -> WrittenReport:
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
    written = WrittenReport(
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
    rule, examples = choose(result, measured)
    return Section(
        result=result,
        run=folder.run(),
        chart="data:image/svg+xml;base64," + base64.b64encode(chart.read_bytes()).decode(),
        summary=cells(result, [ALL]),
        kinds=cells(result, kinds),
        findings=findings(result),
        notes=(*result.notes, judged_by(result)),
        rule=rule,
        examples=examples,
    )


def findings(result: ExperimentResult) -> list[Finding]:
    """The gain of each condition over the baseline, of phases the first and the last."""
    rows = [row for row in result.rows if row.kind == ALL and row.condition != result.baseline]
    phases = [row.phase for row in rows]
    found = []
    for row in rows:
        if row.gain is None or row.phase not in (phases[0], phases[-1]):
            continue
        name = f"{row.model}, {row.condition}" if len(result.models) > 1 else row.condition
        name += f" (phase {row.phase})" if row.phase else ""
        chance = "one pair, so no test" if row.p is None else f"p {p_text(row.p)}"
        clear = row.p is not None and row.p < CLEAR_BELOW
        verdict = ("higher" if row.gain > 0 else "lower") if clear else "no clear difference"
        text = f"{name}: {row.gain:+.1f} points against {result.baseline} ({chance}, {row.items:,} items)"
        found.append(Finding(text, verdict))
    return found


def choose(result: ExperimentResult, measured: Sequence[Measured]) -> tuple[str, list[ExamplePair]]:
    """The rule, and the pairs with the median gain, the largest gain and the largest loss.

    Pairs are of the baseline and of the cell with the most memories in a prompt on average; of several the last.
    """
    shown: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for one in measured:
        shown[one.condition, one.phase].append(len(one.shown))
    others = [cell for cell in shown if cell[0] != result.baseline]
    cell = max(reversed(others), key=lambda cell: sum(shown[cell]) / len(shown[cell]), default=None)
    base = {(one.model, one.item): one for one in measured if one.condition == result.baseline}
    pairs = [
        ExamplePair("", before, one)
        for one in measured
        if (one.condition, one.phase) == cell and one.score is not None
        if (before := base.get((one.model, one.item))) and before.score is not None
    ]
    if not pairs:
        return "", []
    pairs.sort(key=lambda pair: (pair.gain, pair.after.item, pair.after.model))
    examples = [pairs[(len(pairs) - 1) // 2]._replace(why="the median gain")]
    examples += [pairs[-1]._replace(why="the largest gain")] if pairs[-1].gain > 0 else []
    examples += [pairs[0]._replace(why="the largest loss")] if pairs[0].gain < 0 else []
    name = " ".join(filter(None, cell or ()))
    rule = (
        f"Of all {len(pairs):,} tasks that were graded with {result.baseline} and with {name}, those with the median "
        f"gain in score, the largest gain and the largest loss, where there is one. {name} showed the most memories."
    )
    return rule, examples


def _measured(file: Path) -> Iterator[Measured]:
    for number, line in read_lines(file):
        try:
            yield Measured.model_validate_json(line)
        except ValidationError as error:
            raise BadInput(f"{file}:{number}: {readable(error, 'the item')}") from error


def _page(by_name: Mapping[str, Section], written: WrittenReport, paper: Paper | None) -> str:
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
        # The figures of each table, with ours where its experiment has ended.
        figures={
            table: beside(table.figures, by_name[table.experiment].result if table.experiment in by_name else None)
            for table in (paper.tables if paper else ())
            if table.figures
        },
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
