"""`benchmarks.finetune` on a model of a few thousand weights, made here: it learns, and only what is better is kept."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("peft", reason="the extra 'bench' brings it")

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from typer.testing import CliRunner, Result

from benchmarks import finetune
from memshare_memory.memory import Memory
from tests.support.deployment import ROOT

# peft asks transformers by a name that is to go.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")]

PROMPTS = [f"Is {number} a number?" for number in range(60)]
TEMPLATE = (
    "{% for turn in messages %}{% if turn.role != 'system' %}[{{ turn.role }}]{{ turn.content }}[end]{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
AGENT = """
description = "Says yes."
pool = "numbers"
rubric = "numbers"
instructions = "Answer with yes."
"""
RUBRIC = """
domain = "Questions about numbers."

[[criteria]]
name = "right"
points = 100
description = "It is yes."
check = "memshare_scorer.checks.texts:matches"
options = {pattern = "yes"}
"""


def memory(prompt: str, answer: str = "yes", **more: object) -> Memory:
    return Memory.model_validate(
        {"id": uuid4(), "pool": "numbers", "prompt": prompt, "answer": answer, "agent": "numbers", "score": 95}
        | {"created": 1.0}
        | more
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an agent, memories and a model that has learnt nothing."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "numbers.toml").write_text(AGENT)
    (tmp_path / "agents" / "numbers.rubric.toml").write_text(RUBRIC)
    monkeypatch.setenv("MEMSHARE_AGENTS_DIR", str(tmp_path / "agents"))
    write(tmp_path, [memory(prompt) for prompt in PROMPTS])
    tokenizer = Tokenizer(models.WordLevel(unk_token="[unk]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[unk]", "[end]", "[user]", "[assistant]"]
    tokenizer.train_from_iterator(
        [*PROMPTS, "yes no"],
        trainers.WordLevelTrainer(special_tokens=special),
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="[end]", unk_token="[unk]", chat_template=TEMPLATE
    )
    fast.save_pretrained(tmp_path / "model")
    config = LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        eos_token_id=fast.eos_token_id, bos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    finetune.torch.manual_seed(1)
    LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    monkeypatch.setattr(finetune, "ANSWER_TOKENS", 4)
    return tmp_path


def write(folder: Path, memories: list[Memory]) -> None:
    (folder / "pool.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in memories))


def tune(folder: Path, *options: str) -> Result:
    app = finetune.typer.Typer()
    app.command()(finetune.main)
    given = [folder / "pool.jsonl", "--agent", "numbers", "--model", folder / "model", "--out", folder / "tuned"]
    return CliRunner().invoke(app, [*map(str, given), "--json", *options])


def test_a_model_that_answers_better_what_it_was_not_trained_on_is_written(folder: Path) -> None:
    done = tune(folder, "--epochs", "10", "--rate", "0.02")

    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["trained_on"], told["held_out"], told["score_before"]) == (48, 12, 0)
    assert told["better"]
    assert told["gain"]["low"] > 0
    tuned, tokenizer = (of.from_pretrained(str(folder / "tuned")) for of in (AutoModelForCausalLM, AutoTokenizer))
    turns = [{"role": "user", "content": PROMPTS[0]}]
    asked = tokenizer(
        tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False), return_tensors="pt"
    )
    said = tuned.generate(asked["input_ids"], max_new_tokens=4, do_sample=False)
    assert "yes" in tokenizer.decode(said[0])


def test_a_model_that_is_not_better_is_not_written_and_the_exit_code_says_so(folder: Path) -> None:
    done = tune(folder, "--epochs", "1", "--rate", "0")

    assert done.exit_code == 1
    assert not json.loads(done.stdout)["better"]
    assert not (folder / "tuned").exists()


def test_only_what_is_active_and_was_graded_well_enough_is_learnt_from(folder: Path) -> None:
    right = memory("Is 1 a number?")
    write(
        folder,
        [
            right,
            memory("Is 2 a number?", score=80.9),
            memory("Is 3 a number?", score=None),
            memory("Is 4 a number?", status="hidden"),
            memory("Is 5 a number?", status="stale"),
            memory("Is 6 a number?", agent="another"),
        ],
    )

    assert finetune.trusted(folder / "pool.jsonl", "numbers", 81) == [right]


def test_no_prompt_that_is_held_out_is_trained_on() -> None:
    training, held_out = finetune.divided(
        [memory(prompt, answer) for prompt in PROMPTS for answer in ("yes", "yes!")], 7
    )

    assert len(held_out) == 12
    assert not {one.prompt for one in training} & {one.prompt for one in held_out}


def test_the_recipe_needs_no_package_of_the_product() -> None:
    assert "peft" not in (ROOT / "pyproject.toml").read_text().split("bench = [")[0]
