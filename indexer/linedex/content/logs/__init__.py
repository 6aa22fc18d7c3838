"""What a log holds: the instant and level of each record, counts of them, and the shapes of its messages.

Promise: every figure is exact and depends on the bytes alone. Learned positions and layouts only make reading faster;
a line that they do not fit is read by the format's own expression. Bytes in, arrays and frozen dataclasses out.

    detection  which timestamp format a file has, and where; where its levels stand -> `LogRule`
    changes    formats that a log takes up where its sample did not look
    parts      what is stored of every 256 KiB, read range by range and joined
    records    the instant and level of each line of a window, for filters
    moments    what people write for `since` and `until`
    cells      counts per (minute, level), added up over blocks and files to a timeline
    templates  recurring message shapes and their counts
"""
