"""The steps of a reasoning run as a tree: which operator called which, what each read and said."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from rich.tree import Tree

from memshare.client.journey import asked_of
from memshare.terminal.console import short, styled
from memshare_broker.wire.messages import Step

READ_SHOWN = 4


def draw(question: str, steps: Sequence[Step]) -> Tree:
    """The tree of a run; a step stands under the step that called it, in the order in which they ran."""
    root = Tree(styled((short(question, 100), "bold")))
    branches: dict[int | None, Tree] = {None: root}
    for step in steps:
        branches[step.number] = branches.get(step.parent, root).add(_label(step))
    return root


def _label(step: Step) -> Text:
    tokens = step.usage.prompt_tokens + step.usage.completion_tokens
    cost = f" · {tokens:,} tokens · {step.model}" if step.model else ""
    label = styled((f"{step.number} {step.operator}", "bold cyan"), (f"  {step.seconds:.1f} s{cost}", "dim"))
    knowledge = ", ".join(str(one) for one in step.knowledge)
    rows = {
        "asked": asked_of(step),
        "read": _names(step.read),
        "left out for want of room": _names(step.left_out),
        "said": step.said,
        "knowledge": knowledge,
    }
    for name, text in rows.items():
        if text:
            label.append_text(styled((f"\n{name}: ", "dim"), text))
    return label


def _names(names: Sequence[str]) -> str:
    more = f"; and {len(names) - READ_SHOWN} more" if len(names) > READ_SHOWN else ""
    return "; ".join(names[:READ_SHOWN]) + more
