"""Commands that run a deployment."""
