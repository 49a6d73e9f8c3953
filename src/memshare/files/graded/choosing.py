"""Which graded runs of a file become memories: those with a score, high enough, of text alone, each once."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from memshare.client.pools import require_kind
from memshare.extras import names_extra
from memshare.files.graded.runs import GradedRun, records_of
from memshare.files.graded.sources import Source, field_of, graded_runs, number_of
from memshare.files.json_lines import called, read_bytes
from memshare.files.pairs import SAME, PairsFile, no_pool
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.presence import AgentCard
from memshare_broker.wire.forms import LONGEST_LABEL, checked, one_line
from memshare_broker.wire.grades import CriterionScore, Score
from memshare_broker.wire.same_text import decode
from memshare_memory.memory import Memory, memory_id

FIELD = "field:"
"""Before the name of a field that an agent or a kind is taken from."""
T = TypeVar("T")
NO_TEXT, NO_SCORE, UNDER = "no prompt or no answer", "no such score", "under the score"
TOOLS, TOO_LONG = "calls of tools", "longer than MEMSHARE_PROMPT_LIMIT"
HALF = "half a character in it"
NO_AGENT, NO_KIND, REFUSED = "no agent of that name", "no such kind of its agent", "its rubric's program refused it"

Grade = Callable[[str | None, str | None, str, str], Score | None]
"""The grade of an agent's kind, prompt and answer by its rubric's programs; None where it takes a model."""


class RunChoice(NamedTuple):
    """Choices of a person: the score and from which value on, the scale it is on, and whose memories they become."""

    source: Source
    score: str | None = None
    at_least: float | None = None
    scale: str | None = None
    agent: str | None = None
    kind: str | None = None
    pool: str | None = None


class GradedFile(NamedTuple):
    """The memories of a file's runs, what was asked of their score, and where those stand that are left out, by why."""

    memories: list[Memory]
    left_out: dict[str, list[str]]
    places: dict[UUID, str]
    score: str | None
    at_least: float | None
    scale: tuple[float, float]
    faults: Sequence[str] = ()
    """Why nothing may come in: a sentence for each kind of fault, with the first places and how many more there are."""

    @property
    def pairs(self) -> PairsFile:
        """The same as a file of exported memories."""
        return PairsFile(self.memories, [], self.left_out, self.places)


def read_runs(files: Sequence[Path], source: Source) -> list[GradedRun]:
    """The runs of a source's files; scores may stand in another file than the runs."""
    records = (
        one for file in files for one in records_of(decode(read_bytes(file), called(file)), called(file), source)
    )
    return graded_runs(records, source, ", ".join(map(called, files)))


def choose(
    runs: Sequence[GradedRun],
    wanted: RunChoice,
    pool_of_agent: Mapping[str, str],
    submitter: str,
    limit: int,
    *,
    cards: Mapping[str, AgentCard] = {},
    grade: Grade = lambda *_: None,
    masked: Callable[[str], str] = str,
    advance: Callable[[], object] = bool,
) -> GradedFile:
    """Choose the runs that come in; `faults` say all that is unclear: score, scale, value and pools, and wrong rows.

    The pool is that of a table's row, else `wanted.pool`, else the agent's. Kinds are checked of agents with `cards`.
    A memory has the run's score out of 100, with its name and source beside it, or the grade of its rubric's programs.
    `advance` is called for each run.
    """
    faults, wrong = list[str](), defaultdict[str, list[str]](list)

    def asked(of: Callable[..., T], *given: object, otherwise: T) -> T:
        try:
            return of(*given)
        except BadInput as error:
            faults.append(str(error))
            return otherwise

    score = asked(_score_of, runs, wanted, otherwise=None)
    values = {run.id: value for run in runs if score and (value := _mean(run.scores.get(score, ()))) is not None}
    at = {run.places[0]: values[run.id] for run in runs if run.id in values}
    scale = asked(
        _scale, wanted.scale, score, at, otherwise=(min(at.values(), default=0), max(at.values(), default=0) + 1)
    )
    least = asked(_least, wanted.at_least, score, at, otherwise=None)
    memories, left_out, places = dict[UUID, Memory](), defaultdict[str, list[str]](list), dict[UUID, str]()
    for run in runs:
        advance()
        if run.fault:
            wrong[run.fault] += run.places
            continue
        value = values.get(run.id)
        own = [f"{FIELD}{name}" if wanted.source == "table" else None for name in ("agent", "kind", "pool")]
        agent, kind = _said(run, wanted.agent or own[0]), _said(run, wanted.kind or own[1])
        pool = _said(run, own[2]) or wanted.pool or pool_of_agent.get(agent or "", "")
        if not pool and wanted.agent is None and agent is None:
            wrong[str(no_pool(pool_of_agent.values()))] += run.places[:1]
            continue
        left_out[SAME] += run.places[1:]  # rows that say the same are one run, with each row's value of a column
        grades: Score | None = None
        is_under = value is not None and least is not None and value < least
        why = _refused(run, limit) or (UNDER if is_under else None if pool else NO_AGENT)
        try:
            require_kind(cards, agent, kind)
        except BadInput:
            why = why or NO_KIND
        if why is None:
            grades, why = _graded(grade, agent, kind, run)
        if why is None and score and value is None and grades is None:
            why = NO_SCORE
        if why is None:
            prompt, answer = masked(run.prompt or ""), masked(run.answer or "")
            name = memory_id(pool, prompt, answer)
            why = SAME if name in memories else None
        if why is not None:
            left_out[why].append(run.places[0])
            continue
        worth = _worth(run, wanted.source, score, value, scale, grades)
        told = {"id": name, "pool": pool, "prompt": prompt, "answer": answer, "agent": agent, "kind": kind}
        places[name] = run.places[0]
        try:
            memories[name] = checked(Memory, "the memory", **told, submitter=submitter, **worth)
        except BadInput as error:
            wrong[str(error)].append(run.places[0])
    faults += [f"{_first(where)}: {why}" for why, where in wrong.items()]
    some = {why: found for why, found in left_out.items() if found}
    return GradedFile(list(memories.values()), some, places, score, least, scale, faults)


def _first(places: Sequence[str]) -> str:
    said = ", ".join(map(one_line, places[:3]))
    return f"{said} and {len(places) - 3:,} more" if len(places) > 3 else said


def _graded(grade: Grade, agent: str | None, kind: str | None, run: GradedRun) -> tuple[Score | None, str | None]:
    """The grade of a run by its rubric's programs, and why it is left out, if it is."""
    try:
        grades = grade(agent, kind, run.prompt or "", run.answer or "")
    except GiveUp:
        return None, REFUSED
    return grades, REFUSED if grades and not grades.accepted else None


def _worth(
    run: GradedRun,
    source: Source,
    score: str | None,
    value: float | None,
    scale: tuple[float, float],
    grades: Score | None,
) -> dict[str, Any]:
    """The fields of a memory that say what a run was worth, when it was, and where it comes from."""
    now, given, criteria, percent = time.time(), "", dict[str, CriterionScore](), None
    if value is not None:
        percent, given = round(100 * (value - scale[0]) / (scale[1] - scale[0]), 6), f", {score} {value:g}"
        criteria[one_line(f"{source}: {score}")] = CriterionScore(low=percent, high=percent, points=100)
    return {
        "model": one_line(run.model) if run.model else None,
        "score": grades.total if grades else percent,
        "criteria": criteria | (grades.criteria if grades else {}),
        "rubric_version": grades.rubric_version if grades else None,
        "source": one_line(f"{source} {run.id}{given}"),
        "created": min(run.when or now, now),
    }


def _refused(run: GradedRun, limit: int) -> str | None:
    if run.calls_tools:
        return TOOLS
    if run.prompt is None or run.answer is None:
        return NO_TEXT
    try:
        (run.prompt + run.answer).encode()
    except UnicodeEncodeError:
        return HALF
    return TOO_LONG if max(len(run.prompt), len(run.answer)) > limit else None


def _said(run: GradedRun, said: str | None) -> str | None:
    if said is None or not said.startswith(FIELD):
        return said
    found = field_of(run.fields, said.removeprefix(FIELD))
    return one_line(found)[:LONGEST_LABEL] if found else None


def _mean(values: Iterable[object]) -> float | None:
    numbers = [number for value in values if (number := number_of(value)) is not None]
    return fmean(numbers) if numbers else None


def _score_of(runs: Sequence[GradedRun], wanted: RunChoice) -> str | None:
    """The name of the score that counts; None where runs have none, and are taken as they are."""
    row = "row" if wanted.source == "table" else "run"
    names = Counter(name for one in runs for name, values in one.scores.items() if _mean(values) is not None)
    there = ", ".join(one_line(f"{name!r} ({count:,} {row}s)") for name, count in names.most_common(10))
    there = f"There are: {there}" if names else "Where scores are in a file of their own, name it: --scores"
    if wanted.score in names:
        return wanted.score
    if wanted.score:
        what = f"no {row} has a number, or pass or fail, as its score {wanted.score!r}"
    elif wanted.source == "table":
        return next((name for name in names if name.casefold() == "score"), None)
    elif len(names) == 1:
        return next(iter(names))
    elif not names and all("inputs" in one.fields[0] and "run_type" not in one.fields[0] for one in runs):
        return None  # examples of a dataset
    else:
        what = "which score? Name one with --score" if names else "no run has a score"
    raise BadInput(f"{what}. {there}.")


def _scale(said: str | None, score: str | None, values: Mapping[str, float]) -> tuple[float, float]:
    """The ends of a score's scale: 0 to 1 where all lie there, else as it is said."""
    if not values:
        return 0.0, 1.0
    first, last = min(values.values()), max(values.values())
    if said is None and 0 <= first <= last <= 1:
        return 0.0, 1.0
    ends = [number_of(part) for part in (said or "").split(":")]
    low, high = ends if len(ends) == 2 else (None, None)
    if low is None or high is None or low >= high:
        what = (
            f"Say the scale of {score!r} with --scale LOW:HIGH, such as 1:5"
            if said is None
            else f"{said!r} is no scale; expected such as 0:10"
        )
        raise BadInput(f"values of {score!r} go from {first:g} to {last:g}. {what}.")
    if outside := [run for run, value in values.items() if not low <= value <= high]:
        places = f"{score!r} of {_first(outside)} is outside of the scale {said}"
        raise BadInput(f"{places}: values go from {first:g} to {last:g}.")
    return low, high


def _least(said: float | None, score: str | None, values: Mapping[str, float]) -> float | None:
    """The value from which a run comes in: of verdicts 1, else as it is said."""
    if said is not None or not values:
        return said
    if set(values.values()) <= {0.0, 1.0}:
        return 1.0
    spread = (
        f"from {min(values.values()):g} to {max(values.values()):g}, half of them {median(values.values()):g} or more"
    )
    raise BadInput(f"from which {score!r} on? They go {spread}: say it with --at-least.")


def programs(rubric_of_agent: Mapping[str, str | None], agents_dir: Path | None) -> Grade:
    """Grades by the programs of rubrics, where these grade alone and are known here."""
    from memshare_llm.models import NoModel
    from memshare_scorer.grading import PairToGrade, is_checked
    from memshare_scorer.grading import grade as graded
    from memshare_scorer.rubric import Rubric, find_rubric, threshold_for, without_seeds

    @cache
    def rubric_of(agent: str) -> Rubric | None:
        try:
            return find_rubric(name, agents_dir) if (name := rubric_of_agent.get(agent)) else None
        except BadInput:  # the agent is of another machine, and its rubric, too
            return None

    def grade(agent: str | None, kind: str | None, prompt: str, answer: str) -> Score | None:
        rubric = rubric_of(agent) if agent else None
        if rubric is None or not is_checked(rubric, kind):
            return None
        return graded(NoModel(), rubric, threshold_for(rubric, "", without_seeds), PairToGrade(kind, prompt, answer), 1)

    return grade


def presidio() -> Callable[[str], str]:
    """Puts names of kinds such as <PERSON> in the place of personal data that Presidio finds in English."""
    with names_extra("--mask-personal-data"):
        from presidio_analyzer import AnalyzerEngine
        from presidio_anonymizer import AnonymizerEngine
    analyzer, anonymizer = AnalyzerEngine(), AnonymizerEngine()
    return lambda text: str(anonymizer.anonymize(text, analyzer.analyze(text, "en")).text)
