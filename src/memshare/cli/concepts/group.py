"""`memshare concepts`: what the memories of a pool are about, how these subjects are connected, and what is missing."""

from __future__ import annotations

import typer

from memshare.cli.concepts.ask import ask
from memshare.cli.concepts.clusters import clusters, summary
from memshare.cli.concepts.explore import explore
from memshare.cli.concepts.extract import extract
from memshare.cli.concepts.gaps import gaps
from memshare.cli.concepts.map import draw_map
from memshare.cli.concepts.merge import merge, similar, split
from memshare.cli.concepts.show import common, show
from memshare.cli.concepts.why import why

app = typer.Typer(
    help="Concepts: what the memories of a pool are about, how these subjects are connected, and what is missing."
)
for command in (extract, show, common, clusters, summary, gaps, ask, explore, similar, merge, split, why):
    app.command()(command)
app.command("map")(draw_map)
