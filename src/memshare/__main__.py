"""`python -m memshare` is the same as `memshare`."""

from memshare.cli import main

main()
