"""Tests of every room, sorted by purpose."""
