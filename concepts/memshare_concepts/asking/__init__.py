"""New questions in the style of a cluster: what they are about, who writes them, and what becomes of them."""
