"""Where REST is served unless somebody says otherwise."""

PORT = 8780
