"""Clusters of memories that are alike, in levels: children partition their parent."""

from memshare_concepts.clusters.cluster import Cluster, Clusters, Topic
from memshare_concepts.clusters.clustering import find_clusters

__all__ = ["Cluster", "Clusters", "Topic", "find_clusters"]
