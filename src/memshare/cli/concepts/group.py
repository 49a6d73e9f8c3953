"""`memshare concepts`: what the memories of a pool are about, how these subjects are connected, and what is missing."""

from __future__ import annotations

import typer

from memshare.cli.concepts.ask import ask
from memshare.cli.concepts.clusters import clusters, draw_map, summary
from memshare.cli.concepts.explore import explore, gaps
from memshare.cli.concepts.names import extract, merge, similar, split
from memshare.cli.concepts.show import common, show, why

app = typer.Typer(
    help="Concepts: what the memories of a pool are about, how these subjects are connected, and what is missing."
)
for command in (extract, show, common, clusters, summary, gaps, ask, explore, similar, merge, split, why):
    app.command()(command)
app.command("map")(draw_map)
