"""`python -m memshare` is the same as `memshare`."""

from memshare.cli.main import main

main()
