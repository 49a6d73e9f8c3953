"""Summaries of clusters: who writes them, and where they are kept until the cluster has changed."""
