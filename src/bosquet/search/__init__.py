"""Maximising acquisition functions over structured spaces."""
