"""Where a provider's API is and the key for it, from the environment."""

from __future__ import annotations

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

from memshare_broker.errors import BadInput
from memshare_broker.observe.safe_text import hide

OWN = {"openai": "https://api.openai.com/v1", "mistral": "https://api.mistral.ai"}
"""The address of each provider's own API."""


def is_private(address: str) -> bool:
    """True if a server is on this machine or in this network, by its address: nobody bills its calls."""
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".svc", ".lan", ".home.arpa"))


def find_endpoint(provider: str) -> tuple[str, str]:
    """The key in `PROVIDER_API_KEY`, and the address in `PROVIDER_BASE_URL` or else the provider's own.

    The key is masked from then on wherever a provider echoes it. Raises `BadInput` if neither is set: a server of
    yours may need no key, a provider always does.
    """
    variable = provider.upper()
    address = os.environ.get(f"{variable}_BASE_URL", "").strip()
    key = os.environ.get(f"{variable}_API_KEY", "").strip()
    if address and not address.startswith(("http://", "https://")):
        raise BadInput(f"{variable}_BASE_URL={address!r} is no address: it must start with http:// or https://")
    if not key and not address:
        raise BadInput(
            f"{variable}_API_KEY is not set. Set it to your key, or {variable}_BASE_URL to a server that "
            "needs none, or choose another model."
        )
    hide(key)
    return key or "none", address or OWN[provider]
