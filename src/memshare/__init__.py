"""Agents that answer tasks from queues and share what worked."""

from memshare.client import Client

__all__ = ["Client"]
