"""The process: its files, its start, its signals and its end."""
