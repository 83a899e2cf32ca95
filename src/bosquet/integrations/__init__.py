"""bosquet inside other tools; each module needs its tool, and nothing here is imported before."""
