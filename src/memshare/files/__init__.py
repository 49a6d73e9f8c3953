"""Files that people bring and take: memories as JSON lines, exports, training data."""
