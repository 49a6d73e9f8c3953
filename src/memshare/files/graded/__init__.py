"""Graded runs in files of other tools: what each exports, as runs with their scores, and which of them come in."""
