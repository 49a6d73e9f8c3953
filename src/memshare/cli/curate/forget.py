"""`memshare memories forget`: memories go into the trash, and if wanted what the retrievers learnt from them."""

from __future__ import annotations

from uuid import UUID

from memshare.cli.curate.before_forgetting import (
    AllAnonymous,
    DryRun,
    Ids,
    Model,
    Submitter,
    Task,
    WithChildren,
    Yes,
    chosen,
)
from memshare.cli.curate.forgetting import Consent, RollBack, forget_these, say_stale
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.extras import require
from memshare.terminal.console import console, print_json
from memshare.terminal.memory_ids import short_id
from memshare.terminal.memory_pages import counted


def forget(
    memory_ids: Ids = None,
    submitter: Submitter = None,
    model: Model = None,
    task: Task = None,
    with_children: WithChildren = False,
    roll_back: RollBack = None,
    yes: Yes = False,
    all_anonymous: AllAnonymous = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Forget memories: agents are not shown them from the next task on. The trash has them for 30 days.

    `memories restore` brings them back, and `memories purge` removes them for good.

    Example: memshare memories forget --submitter mallory --with-children
    """
    if roll_back:
        require("memshare memories forget --roll-back", "trainer")
    client = Client()
    which = chosen(client, memory_ids, submitter=submitter, model=model, task=task, children=with_children, trash=False)
    done = forget_these(client, which, roll_back, Consent(yes, all_anonymous, dry_run), as_json=as_json)
    if done is None:
        return
    if as_json:
        print_json(done)
        return
    if not done["forgotten"]:
        console.print("0 memories were forgotten: there is none of that kind.")
        return
    number = len(done["forgotten"])
    back = f"`memshare memories restore {short_id(UUID(done['forgotten'][0]))}` brings it back"
    if number > 1:
        back = "`memshare memories trash` lists them, and `memshare memories restore ID` brings one back"
    console.print(f"Forgot {counted(number)}. {back} within 30 days.")
    say_stale(done["stale"])
