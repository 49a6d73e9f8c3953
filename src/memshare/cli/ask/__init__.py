"""Commands that submit tasks and show what became of them."""
