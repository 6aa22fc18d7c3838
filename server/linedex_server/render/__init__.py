"""Answers in words: pure functions from the library's answers to the text that a model or a person reads.

The forms are those of a terminal user's tools: `path` then `N:line` as ripgrep prints them, numbered lines as `nl`
prints them, outlines by indentation. The last line of each stands in brackets and carries what there is to know about
the answer: how it came about, what was left out, where to go on. Every line of content starts with its number and
every path is displayed with its control characters escaped, so neither can pass for a line of ours.
"""
