"""Experiments: what memories do for the agents, measured over the queues."""
