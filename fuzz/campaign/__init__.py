"""Campaigns: workers under a supervisor, what they find, and the reports about it."""
