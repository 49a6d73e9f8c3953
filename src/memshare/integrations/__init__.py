"""The shared memory in the words of other libraries; each module needs the library of its name."""
