"""The pages that `memshare serve` shows in a browser. They load nothing from anywhere else."""
