"""Compressed text: `.gz`, `.zst` and `.xz` files read as the text they hold.

Promise: everything outside this package works on decoded offsets; only what is here knows a codec. A read decodes from
the nearest seek point, in steps of a mebibyte, whatever the file claims to hold, so a bomb costs time and no memory.

`codec` says which files are compressed, `decoding` how one is read. `stream` decodes forward. `points` are where
decoding can begin: gzip states with their windows, Zstandard frames. `survey` is the one pass, in a worker, that finds
them and the decoded size. `shadow` keeps a seekable copy, below a budget, of what has no points. `reader` reads by
offset.
"""
