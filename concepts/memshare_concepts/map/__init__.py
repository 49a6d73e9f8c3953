"""The map of a pool: one HTML page that shows its clusters, its memories and how alike they are."""
