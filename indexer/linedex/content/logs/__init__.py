"""What a log holds: the instant and level of each record, counts of them, and the shapes of its messages.

Promise: every figure is exact and depends on the bytes alone. Learned positions and layouts only make reading faster;
a line that they do not fit is read by the format's own expression. Bytes in, arrays and frozen dataclasses out.

    detection  which timestamp format a file has, and where; where its levels stand -> `LogRule`
    analysis   `LogAnalyser.analyse(block, carry)` -> `BlockFacts`, for an index made block by block
    records    the instant and level of each line of a window, for filters
    moments    what people write for `since` and `until`
    cells      counts per (minute, level), added up over blocks and files to a timeline
    templates  recurring message shapes and their counts
"""
