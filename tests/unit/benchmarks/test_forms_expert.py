"""The model of `benchmarks.forms` goes by the form, and its agent is graded by a rubric that was approved."""

from pathlib import Path

from benchmarks.forms import expert
from benchmarks.forms.expert import FormExpert
from benchmarks.forms.tasks import memories, unseen_tasks
from memshare_scorer.rubric import all_rubrics


def test_what_has_another_form_misleads_but_for_a_few_wrong_labels() -> None:
    pairs = [(task, one) for task in unseen_tasks(30, seed=1) for one in memories(60, seed=1)]

    labels = [FormExpert().misleads(task.prompt, (one.prompt, one.answer)) for task, one in pairs]

    assert labels == [FormExpert().misleads(task.prompt, (one.prompt, one.answer)) for task, one in pairs]
    wrong = [(label > 50) == (task.form == one.form) for label, (task, one) in zip(labels, pairs, strict=True)]
    assert 0.03 < sum(wrong) / len(wrong) < 0.07


def test_the_rubric_of_its_agent_is_approved() -> None:
    assert all_rubrics(Path(expert.__file__).with_name("agents"))["forms"].approved
