"""Parts that measure how odd a text is, how they are fitted, and the scorer that runs them."""
