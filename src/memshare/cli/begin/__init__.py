"""Commands of a first hour: the demo, running everything, beginning a pool."""
