"""What the documentation says is so: its output, its tables, and how the rooms depend."""
