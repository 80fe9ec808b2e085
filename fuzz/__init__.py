"""Engines, comparison and search: where the oracle meets the production engine."""
