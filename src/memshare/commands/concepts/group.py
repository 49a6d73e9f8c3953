"""`memshare concepts`: what the memories of a pool are about, how these subjects are connected, and what is missing."""

from __future__ import annotations

import typer

from memshare.commands.concepts.ask import ask
from memshare.commands.concepts.clusters import clusters
from memshare.commands.concepts.common import common
from memshare.commands.concepts.explore import explore
from memshare.commands.concepts.extract import extract
from memshare.commands.concepts.gaps import gaps
from memshare.commands.concepts.map import draw_map
from memshare.commands.concepts.merge import merge, split
from memshare.commands.concepts.show import show
from memshare.commands.concepts.similar import similar
from memshare.commands.concepts.summary import summary
from memshare.commands.concepts.why import why

app = typer.Typer(
    help="Concepts: what the memories of a pool are about, how these subjects are connected, and what is missing.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(extract)
app.command()(show)
app.command()(common)
app.command()(clusters)
app.command()(summary)
app.command()(gaps)
app.command()(ask)
app.command()(explore)
app.command()(similar)
app.command()(merge)
app.command()(split)
app.command()(why)
app.command("map")(draw_map)
