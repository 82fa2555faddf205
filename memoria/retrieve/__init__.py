"""Retrieval: from a query to hits."""
