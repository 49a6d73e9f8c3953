"""Clusters of memories that are alike, in levels: children partition their parent."""

from memshare_concepts.clusters.cluster import Cluster, Clusters, Topic

__all__ = ["Cluster", "Clusters", "Topic"]
