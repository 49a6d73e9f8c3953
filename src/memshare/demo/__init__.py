"""The bundled tasks and seeds, and what `memshare demo` does with them."""
