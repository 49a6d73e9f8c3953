"""Two streams of tasks: one in which prompts are much alike, and one in which form and topic differ."""

from __future__ import annotations

from benchmarks.calls.facts import TaskFact
from benchmarks.forms import tasks as forms

MOST = 200  # tasks of a stream
TOWNS = (
    *("Bergen", "Bilbao", "Cadiz", "Delft", "Ghent", "Graz", "Lucca", "Lund", "Nantes", "Olomouc"),
    *("Porto", "Riga", "Siena", "Split", "Tartu", "Trieste", "Ulm", "Utrecht", "Vilnius", "York"),
)
SEASONS = (*("March", "April", "May", "June", "July", "August", "September", "October", "November", "December"),)
PLAN = """\
{town} in {season}, two days, two people, 400 euros.
Saturday morning: the old town on foot, two hours, free; then the market hall, where lunch is about 30 euros for both.
Saturday afternoon: the tower of {town}, one hour, 16 euros; a walk along the water until it gets dark in {season}.
Sunday: the museum of the town, two hours, 24 euros; the hill behind it by bus, 6 euros, and back on foot.
Left for two nights and dinners: about 320 euros. Why so: indoors in the middle of the day, as {season} may be wet or \
hot. If it rains on Saturday, take the museum first."""


def similar() -> list[tuple[str, str]]:
    """Prompts with their answers: weekends that differ in town and month alone."""
    return [
        (
            f"Plan a weekend in {town} in {season} for two people who like walking; 400 euros.",
            PLAN.format(town=town, season=season),
        )
        for town in TOWNS
        for season in SEASONS
    ]


def facts() -> dict[str, TaskFact]:
    """What there is to know of each task, by its prompt."""
    weekends = [(town, season) for town in TOWNS for season in SEASONS]
    plans = [
        TaskFact(town, f"a weekend in {season}", f"Two people who like walking plan a weekend in {town} in {season}.")
        for town, season in weekends
    ]
    texts = {
        one.prompt: TaskFact(one.topic, one.form, f"The user asked for a {one.form} about {one.topic}.")
        for one in forms.memories(MOST, 1)
    }
    return dict(zip([prompt for prompt, _ in similar()], plans, strict=True)) | texts


def unlike() -> list[tuple[str, str]]:
    """Prompts with their answers: twelve forms of text on topics of twelve families."""
    return [(task.prompt, task.answer) for task in forms.memories(MOST, 1)]
