"""Clusters of memories that are alike, in levels: children partition their parent."""

from memshare.concepts.clusters.cluster import Cluster, Clusters, Topic
from memshare.concepts.clusters.clustering import find_clusters

__all__ = ["Cluster", "Clusters", "Topic", "find_clusters"]
