"""Covariance functions on spaces: sums of components."""
