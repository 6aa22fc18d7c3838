"""Rows and bytes become answers: plan, candidates, verification."""
