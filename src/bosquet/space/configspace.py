"""Translation to and from ConfigSpace."""
