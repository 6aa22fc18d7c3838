"""Every size, count and time that bounds linedex, in one place and injectable.

Tests shrink these so that ten lines reach every edge; users change a few of them through settings.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one index. Sizes are bytes, times are seconds, unless the name says otherwise."""

    # cutting and signatures
    large_file: int = 1 << 20
    """A file larger than this is cut into blocks; a smaller one is a single column."""
    block_bytes: int = 32 << 10
    """A block ends at the first line end at or after this many bytes."""
    block_slack: int = 16 << 10
    """How far past `block_bytes` a line end is looked for before a line is split over blocks."""
    group_bytes: int = 16 << 20
    """A group of signature columns is written when its rows reach this size."""
    group_columns: int = 8192
    """... or when it has this many columns."""
    batch_bytes: int = 2 << 20
    """Text handed to a worker in one request."""
    commit_bytes: int = 64 << 20
    """Text whose results are committed in one transaction."""
    commit_seconds: float = 4.0
    staged_bytes: int = 64 << 20
    """A file over this has its lines indexed first, and its signatures and log parts afterwards."""
    checkpoint_bytes: int = 64 << 20
    """A large file has a checksum for each so many of its bytes."""
    checkpoint_seconds: float = 1.0
    """When nothing else is to do, one of them is verified as often ..."""
    recheck_seconds: float = 600.0
    """... but each at most as often as this while its file keeps changing."""
    analyse_seconds: float = 120.0
    """Time a worker may take over one batch of files or one range of a large one."""

    # compressed files
    still_seconds: float = 2.0
    """A compressed file is indexed when nobody has written to it for so long."""
    seek_spacing: int = 1 << 20
    """Bytes of text from one seek point of a gzip file to the next."""
    frame_bytes: int = 8 << 20
    """A Zstandard frame or xz block of more text is not worth beginning at: its file has a seekable copy."""
    shadow_bytes: int = 2 << 30
    """What the seekable copies of one index may take; 0 for none."""
    decoded_bytes: int = 64 << 30
    """A compressed file with more text is skipped ..."""
    decoded_ratio: int = 200
    """... and so is one that expands to so many times its size,"""
    ratio_from: int = 1 << 30
    """once this much of it was decoded."""
    decode_seconds: float = 3600.0
    """Time a worker may take to decode one file once, for its seek points."""

    # freshness
    reconcile_seconds: float = 600.0
    """A watched root is walked as often, for what no event told; one that cannot be watched is tried again."""
    poll_seconds: float = 30.0
    """A root that cannot be watched is looked at as often, so that its changes are indexed."""
    walk_share: float = 0.01
    """Share of the time that these walks may take; where it is not enough they are made less often."""

    # logs
    log_part_bytes: int = 256 << 10
    """Times, levels and templates of a large log are counted by parts of so many bytes."""
    log_zone: str = ""
    """Zone of stamps that name none, by its name in the time zone database; this machine's own when empty."""
    log_buckets: int = 400
    """Buckets of a timeline."""
    overview_bytes: int = 32 << 20
    """Text that an overview reads of a file that is not indexed; what it tells of a larger one is from a sample."""

    # reading and verifying
    window_bytes: int = 1 << 20
    """Large files are verified in windows of whole lines near this size."""
    window_overlap: int = 64 << 10
    """A line over `window_bytes` is searched in windows that overlap by this much."""

    # answers
    page_hits: int = 100
    page_characters: int = 20_000
    excerpt: int = 500
    """Code points of a line shown with a hit."""
    line_matches: int = 100
    """Matches of one line that are told beside its first."""
    line_parts: int = 8
    """Parts of a long line that are shown beside the one around its first match."""
    part: int = 100
    """Code points of such a part."""
    line_characters: int = 5_000
    """Code points of a line shown by a read; a longer line is cut, and said to be."""
    hash_bytes: int = 64 << 20
    """A larger file is named by a cheap `rev:` token instead of a hash of its bytes."""
    count_bytes: int = 256 << 20
    """The lines of a larger file that the index does not know are not all counted to show some of them."""
    count_step: int = 4 << 20
    """They are counted by steps: of so many bytes first, then of as many as were counted, `count_bytes` at most."""
    text_bytes: int = 16 << 20
    """Text of one file that is held whole, for its outline."""
    query_seconds: float = 30.0
    """A query past this answers with what it has and a cursor."""
    near_seconds: float = 3.0
    """Time spent on looking for near lines when nothing matches."""
    near_similarity: float = 0.8
    """Least similarity of a near line, 0 to 1."""
    pattern_seconds: float = 5.0
    """Time a backtracking or very large pattern may take on one file; of a large file, on each window of it."""
    pattern_length: int = 10_000
    """Code points of a pattern."""

    # symbols
    index_symbols: bool = True
    """Whether symbols are stored at all; they are most of a sidecar and of the time it takes to make it."""
    parse_bytes: int = 1 << 20
    parse_header_bytes: int = 2 << 20
    """The same for C headers, and for one file whose outline a person asks for."""
    parse_line_scan_bytes: int = 8 << 20
    """How much of a file over the limit is scanned line by line for headings and macros."""
    parse_seconds: float = 1.0
    """Time of the parse itself."""
    outline_seconds: float = 3.0
    """Time of the whole extraction of one file, by the parent's clock."""
    outline_symbols: int = 20_000
    outline_memory: int = 1 << 30
    """Address space of a parsing worker (where the system can limit it)."""
    data_depth: int = 3
    """Depth of keys outlined in JSON, YAML and TOML."""
    data_keys: int = 2_000
    minified_line: int = 20_000
    minified_average: int = 500
    """Average bytes a line from which a script or style sheet counts as minified."""

    workers: int = 2
    """Processes that analyse; 0 does it in the calling thread, unprotected from what a parser may do."""


DEFAULT_LIMITS = Limits()
