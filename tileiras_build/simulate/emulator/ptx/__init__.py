"""Reading PTX, and what is known of it before it runs."""
