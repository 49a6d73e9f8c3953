"""A small open model, tuned on graded memories and checked before and after: `python -m benchmarks.finetune`.

A recipe, not a service: LoRA by `peft` on what `memshare memories export` wrote, on a GPU where torch sees one, else
with patience. The programs of the agent's rubric grade the model's answers to a fifth of the prompts, which it is not
trained on. A tuned model is written only if its answers are better by the 95 % interval of the differences; else the
exit code is 1.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.report import print_figures, progress
from memshare.evaluation.data import same_text
from memshare.evaluation.result import Interval, interval
from memshare.files.json_lines import read_objects, refuse
from memshare.terminal.console import errors
from memshare_agents.answering import build_prompt
from memshare_agents.roster import Agent, load_roster
from memshare_broker.errors import BadInput
from memshare_broker.settings import load_settings
from memshare_broker.wire.messages import Turn, turns_of
from memshare_memory.memory import Memory
from memshare_scorer.programs import share
from memshare_scorer.rubric import Rubric, find_rubric

HELD_OUT = 5  # one prompt of so many
FEWEST = 10  # prompts held out, of which an interval says something
BATCH = 8
ANSWER_TOKENS = 512


class Example(NamedTuple):
    """A memory as the agent's model is asked for it: the text up to the answer, and the answer with its end."""

    prompt: str
    kind: str | None
    asked: str
    answered: str


def main(
    file: Annotated[Path, typer.Argument(help="Memories that `memshare memories export FILE` wrote.")],
    agent: Annotated[str, typer.Option(help="The agent whose instructions and rubric count.")],
    model: Annotated[str, typer.Option(help="A folder of a causal model with a chat template, or its name in a hub.")],
    out: Annotated[Path, typer.Option(help="Where to write the tuned model, if it is better.")],
    score_from: Annotated[float, typer.Option(help="Minimum score of a memory to learn from.")] = 81,
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    rate: Annotated[float, typer.Option(help="Of learning.")] = 2e-4,
    rank: Annotated[int, typer.Option(min=1, help="Of the matrices that are learnt.")] = 16,
    seed: int = 7,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Tune, check, and write the tuned model if its answers are better."""
    random.seed(seed)
    torch.manual_seed(seed)
    # 1. The memories that may be learnt from, without a fifth of the prompts.
    settings = load_settings()
    known = load_roster(settings.agents_dir)
    if agent not in known:
        raise typer.BadParameter(f"No agent is called {agent!r}. There are: {', '.join(known)}.")
    rubric = find_rubric(known[agent].rubric, settings.agents_dir)
    memories = trusted(file, agent, score_from)
    training, held_out = divided(memories, seed)
    # 2. The model, and how it answers what is held out.
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(model)
    tuned: Any = AutoModelForCausalLM.from_pretrained(model)
    tuned.to(device)
    asked = [example(tokenizer, known[agent], memory) for memory in held_out]
    before = graded(tuned, tokenizer, rubric, asked)
    # 3. A LoRA on all its linear layers, trained on the answers alone.
    tuned = train(tuned, tokenizer, [example(tokenizer, known[agent], one) for one in training], epochs, rate, rank)
    # 4. The same checks again.
    after = graded(tuned, tokenizer, rubric, asked)
    gain = better(before, after)
    figures = {
        "trained_on": len(training),
        "held_out": len(before),
        "score_before": interval(list(before.values())).mean,
        "score_after": interval(list(after.values())).mean,
        "gain": gain.model_dump(),
        "better": gain.low > 0,
    }
    # 5. Only a better one is written.
    if gain.low > 0:
        tuned.merge_and_unload().save_pretrained(out)
        tokenizer.save_pretrained(out)
    print_figures("Tuned on memories", figures, as_json=as_json)
    if gain.low <= 0:
        errors.print("Not better by its interval: nothing is written. Go on with the model that you have.")
        raise typer.Exit(1)
    errors.print(f"Better: {out} has the tuned model. Serve it, and name it as MEMSHARE_MODEL.")


def trusted(file: Path, agent: str, score_from: float) -> list[Memory]:
    """The agent's active pairs in an export that were graded so well; raises `BadInput` that names wrong lines."""
    lines, faults = read_objects(file, "the memory", Memory.model_validate)
    refuse(faults, "Nothing was trained.")
    return [
        memory
        for _, memory in lines
        if memory.agent == agent
        and memory.status == "active"
        and not memory.is_statement
        and memory.score is not None
        and memory.score >= score_from
    ]


def divided(memories: Sequence[Memory], seed: int) -> tuple[list[Memory], list[Memory]]:
    """Memories to train on, and one for each prompt that is held out. Raises `BadInput` where these are too few."""
    by_prompt: dict[str, list[Memory]] = {}
    for memory in memories:
        by_prompt.setdefault(same_text(memory.prompt or ""), []).append(memory)
    prompts = sorted(by_prompt)
    random.Random(seed).shuffle(prompts)
    out = len(prompts) // HELD_OUT
    if out < FEWEST:
        raise BadInput(
            f"{len(prompts)} prompts were answered well enough; it takes {FEWEST * HELD_OUT}, of which {FEWEST} are "
            "held out. Lower --score-from, or wait for more."
        )
    return [one for prompt in prompts[out:] for one in by_prompt[prompt]], [by_prompt[one][0] for one in prompts[:out]]


def example(tokenizer: Any, agent: Agent, memory: Memory) -> Example:
    """A memory in the model's own form, after the agent's instructions; raises `BadInput` without a chat template."""
    if tokenizer.chat_template is None:
        raise BadInput("The model has no chat template: take one that was made for conversations.")
    prompt = memory.prompt or ""
    task = [Turn.model_validate({"role": role, "content": content}) for role, content in turns_of(prompt)]
    turns = [one.model_dump() for one in build_prompt(agent.kind(memory.kind).instructions, [], task)]
    asked: str = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    whole = tokenizer.apply_chat_template([*turns, {"role": "assistant", "content": memory.answer}], tokenize=False)
    if not whole.startswith(asked):
        raise BadInput("The model's chat template changes what stands before an answer: it cannot be trained so.")
    return Example(prompt, memory.kind, asked, whole[len(asked) :])


def train(model: Any, tokenizer: Any, examples: Sequence[Example], epochs: int, rate: float, rank: int) -> Any:
    """The model with a LoRA that was trained on the answers, by AdamW."""
    from peft import LoraConfig, get_peft_model  # checks go without it

    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
    tuned: Any = get_peft_model(model, config)
    tuned.train()
    optimizer = torch.optim.AdamW([one for one in tuned.parameters() if one.requires_grad], lr=rate)
    for _ in progress(range(epochs), "Training"):
        for tokens, labels in batches(tokenizer, random.sample(examples, len(examples))):
            mask = torch.arange(tokens.shape[1]) < (tokens >= 0).sum(1, keepdim=True)
            found = tuned(
                input_ids=tokens.clamp(min=0).to(tuned.device),
                attention_mask=mask.long().to(tuned.device),
                labels=labels.to(tuned.device),
            )
            found.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return tuned


def batches(tokenizer: Any, examples: Sequence[Example]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens and labels, (examples, tokens): tokens of -1 where a row has ended, labels of -100 but for the answer."""
    for start in range(0, len(examples), BATCH):
        rows = [
            [tokenizer(text, add_special_tokens=False)["input_ids"] for text in (one.asked, one.answered)]
            for one in examples[start : start + BATCH]
        ]
        longest = max(len(asked) + len(answered) for asked, answered in rows)
        tokens = torch.full((len(rows), longest), -1)
        labels = torch.full((len(rows), longest), -100)
        for place, (asked, answered) in enumerate(rows):
            tokens[place, : len(asked) + len(answered)] = torch.tensor(asked + answered)
            labels[place, len(asked) : len(asked) + len(answered)] = torch.tensor(answered)
        yield tokens, labels


def graded(model: Any, tokenizer: Any, rubric: Rubric, examples: Sequence[Example]) -> dict[str, float]:
    """Scores of 100 by prompt, of the model's most likely answers; those whose right answer nobody knows have none.

    Raises `BadInput` for a rubric that needs a model to grade by.
    """
    if unchecked := [one.name for one in rubric.criteria if one.check is None]:
        raise BadInput(f"The rubric {rubric.name!r} needs a model for {', '.join(unchecked)}: programs grade here.")
    model.eval()
    scores: dict[str, float] = {}
    for one in progress(examples, "Answering"):
        given = tokenizer(one.asked, add_special_tokens=False, return_tensors="pt").to(model.device)
        with torch.no_grad():
            said = model.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                max_new_tokens=ANSWER_TOKENS,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
            )
        answer = tokenizer.decode(said[0, given["input_ids"].shape[1] :], skip_special_tokens=True).strip()
        criteria = rubric.for_kind(one.kind)
        shares = [share(rubric, criterion, one.prompt, answer) for criterion in criteria]
        if None not in shares:
            points = [criterion.points * (part or 0) for criterion, part in zip(criteria, shares, strict=True)]
            scores[one.prompt] = 100 * sum(points) / sum(criterion.points for criterion in criteria)
    return scores


def better(before: dict[str, float], after: dict[str, float]) -> Interval:
    """The gain in score, prompt by prompt, with its 95 % interval. Raises `BadInput` for too few prompts."""
    gains = [after[prompt] - before[prompt] for prompt in before if prompt in after]
    if len(gains) < FEWEST:
        raise BadInput(f"{len(gains)} prompts could be graded; it takes {FEWEST} to tell models apart.")
    return interval(gains)


if __name__ == "__main__":
    typer.run(main)
