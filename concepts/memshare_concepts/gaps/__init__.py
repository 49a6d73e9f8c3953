"""What a pool lacks: concepts that nothing is about, thin clusters, and clusters that nothing connects."""

from memshare_concepts.gap import Gap
from memshare_concepts.gaps.gaps import find_gaps

__all__ = ["Gap", "find_gaps"]
