"""Recurring message shapes of a log: a hash for the shape of every line, a template for every new shape.

shapes     the shape hash, made for a whole window at once
drain      the template a masked message belongs to
miner      shape hash -> template, and counts per template
contrast   which templates are new or changed between two ranges
"""
