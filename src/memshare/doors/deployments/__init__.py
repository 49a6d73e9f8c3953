"""Several deployments behind one address."""
