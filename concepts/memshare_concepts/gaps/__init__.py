"""What a pool lacks: concepts that nothing is about, thin clusters, and clusters that nothing connects."""
