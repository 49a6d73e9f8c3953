"""What a pool lacks: concepts that nothing is about, thin clusters, and clusters that nothing connects."""

from memshare.concepts.gaps.gap import Gap
from memshare.concepts.gaps.gaps import find_gaps

__all__ = ["Gap", "find_gaps"]
