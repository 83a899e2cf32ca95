"""Acquisition functions: pure functions of a posterior's mean and variance."""
