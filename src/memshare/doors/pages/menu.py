"""The screens that there are, as every page lists them."""

from __future__ import annotations

MENU = (
    ("/", "Journeys"),
    ("/pool", "Pool"),
    ("/map", "Map"),
    ("/inbox", "Needs you"),
    ("/worth", "Does it help"),
    ("/now", "Now"),
    ("/review", "Review"),
    ("/agents", "Agents"),
    ("/access", "Access"),
)
"""Path and name, in the order of the menu."""
