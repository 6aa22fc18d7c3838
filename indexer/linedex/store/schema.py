"""The sidecar's format: one SQLite file per root, told at length.

What is in it
-------------
`folders` and `files` are the catalogue: every file below the root that ignore rules let through, keyed by (folder,
name) so that renaming a folder touches one row. A file row says which bytes it speaks of (size, times, inode, digests
of head and tail), how they spell text, and whether its text is known: `state` 0 pending, 1 indexed, 2 skipped with
`reason`. `symbol_state` says the same of its symbols.

Signatures answer "which files may hold these grams?". A small file (up to 1 MiB), and a large one as a whole, is one
column of 2**bits bits made of its folded trigrams. Columns arrive in `delta`, a row each; when enough of one size are
there they are transposed into a group: row r of a group holds bit r of all its columns, so a query reads only the rows
of its grams and ANDs them. `group_rows` stores several rows of a group in a blob that fits a page: key = group << 20 |
chunk, and a chunk is `rows_per_chunk(columns)` rows, with a CRC-32 behind each `rows_per_strip(columns)` of them, since
a bit that the disk lost would hide a hit. `delta` and the list of a group's files have one each. An ordinary rowid
table, with blobs under SQLite's local payload limit (8,157 bytes at 8 KiB pages): WITHOUT ROWID spilled every blob into
overflow pages and took 28.8 % of the text where this takes 12.5 %.

A file over 1 MiB also has `block_runs`: runs of up to 8,192 blocks cut at line ends. For each block they hold its
first byte, the number of the line that byte belongs to, whether that line began in an earlier block, whether the
cutting began anew there, and a signature of its folded 5-grams, transposed likewise in group `grp`. So line N is one
look-up and one read of at most a block, and an absent 5-gram excludes a block. A run is `columns` wide but holds only
the blocks it names, from column `place` on: so a file that grows or is edited in the middle leaves its rows as they
are, its runs are cut and shifted, and the blocks that were touched get a run of their own. The last block of a file
that has grown, and blocks whose turn has not come yet, stand in runs without signatures (`bits` 0): every query reads
them.

A rewritten file gets a new column in `delta`; its old one stays in its group, where it can only cause a needless read,
and is counted in `dead`. File ids are never an offset or an order.

`symbol_sets` says which set of symbols is a file's, and `symbol_rows` holds each set as one blob of columns in source
order (`store/symbol_pack.py`): lines, column, kind, parent, name, container. Fields, enum members and keys are not
stored, nor byte offsets: the outline of one file parses that file anyway. Nor are signatures: the line of a name is
read when it is shown, from bytes that are true now. A file whose symbols change gets a new set; numbers of sets are
never used again. The Linux tree has 4.3 million symbols in 47,000 sets.

`name_blocks` leads from names to symbols: up to 64 distinct names in their order with their humps if they are not all
capitals (`getTheUser`, `get_the_user`: `gtu`), compressed together; the symbols of each name, 9 bytes a symbol; and
their containers, where there are any (`store/name_blocks.py`). Blocks belong to `name_runs`, which are sorted each by
itself; `first` is a block's first name, so that a name or the start of one is found by one look-up a run. `name_grams`
has for (run << 20 | gram) the blocks of that run, two bytes each, whose folded names or humps have that trigram, so
that parts of names are found by unpacking only blocks that are likely to have them (`store/name_grams.py`). Sets after
the last one of any run are in no run yet: less than 250,000 symbols while a build goes on and less than 2,000
afterwards, which queries unpack. What a run says of a set that is gone is ignored, and left out when runs are merged.
The Linux tree (4.3 million symbols, 2.8 million names) takes 155 MB: 36 bytes a symbol, where a row for each symbol,
two for each name and an index of names by FTS5 took 124.

`logs` says how the lines of a large log are read (`rule` is empty for a large file that is none). `log_segments` holds
its parts of some 256 KiB, up to 256 of them a row: least and greatest time, exact counts per (minute, level) and per
template, and what the lines before each part leave of a record and a clock, so that reading may begin at any part
(`store/log_columns.py`). 10 GB of log take about 0.7 MB for times and levels and 3 MB for templates. The last block is
a part of its own, so that a log which grows keeps all other parts. `log_templates` and `log_shapes` are what its
messages look like, by numbers that never change.

`decodings` says how a compressed file of over 1 MiB of text is decoded: codec, way (`files/compressed/decoding.py`),
size of the text, damage, and its seek points, 18 bytes each, packed. `seek_windows` holds the 32 KiB of text that a
gzip point needs, 32 of them packed in a row: 1.1 % of the text at a point a mebibyte. The file's row is of the
compressed bytes; its blocks, lines and signatures are of the text.

`stages` names the large files whose blocks have been cut but whose signatures and log parts are not all there yet, and
the byte up to which they are: so a file of any size can be read by line soon, searched by scanning meanwhile, and its
index goes on where it stopped.

`checkpoints` holds a CRC-32 for each 64 MiB of a large file, and when those bytes were last read and found so: what
head and tail cannot tell of a file that grew is noticed by reading them again (`store/checkpoints.py`).

`phases` remembers what a build has finished, so that an interrupted one goes on.

Versions
--------
FORMAT_VERSION: the tables changed. 1: the first. 2: `block_runs` instead of one group of blocks a row.
3: the four tables of logs, the two of compressed files. 4: `checkpoints`. 5: `stages`.
6: sets of symbols, and runs of names in blocks, instead of a row for each symbol and each name. 7: `log_templates`
without where a template was seen. 8: checksums of signatures.
FEATURE_VERSION: what is stored in them changed, rebuilding needed. 1: the first. 2: each format of a log has levels.
3: no block begins inside a character of two bytes and more.
Either of them, another folding (Unicode tables) or another gram hash makes a sidecar old. An old or damaged sidecar
is deleted and built anew, by the one process that holds its lock; meanwhile queries scan.
"""

from __future__ import annotations

from linedex.content.folding import FOLDING_VERSION
from linedex.content.grams import GRAM_VERSION

FORMAT_VERSION = 8
FEATURE_VERSION = 3
APPLICATION_ID = 0x6C646578  # "ldex"
PAGE_SIZE = 8192
CHUNK_BYTES = 8_100
"""Blobs up to this size stay on their own page."""
STRIP_BYTES = 256
SEAL_BYTES = 4
"""What a checksum takes."""

VERSIONS = {
    "format": str(FORMAT_VERSION),
    "feature": str(FEATURE_VERSION),
    "folding": FOLDING_VERSION,
    "grams": GRAM_VERSION,
}

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE phases(name TEXT PRIMARY KEY, done INTEGER, seconds REAL) WITHOUT ROWID;

CREATE TABLE folders(
  id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, name BLOB NOT NULL,
  mtime_ns INTEGER NOT NULL, seen_ns INTEGER NOT NULL,
  UNIQUE(parent, name));
CREATE TABLE files(
  id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name BLOB NOT NULL,
  device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, seen_ns INTEGER NOT NULL,
  head BLOB NOT NULL DEFAULT x'', tail BLOB NOT NULL DEFAULT x'',
  state INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  encoding TEXT NOT NULL DEFAULT 'utf-8', bom INTEGER NOT NULL DEFAULT 0, newline INTEGER NOT NULL DEFAULT 0,
  final_newline INTEGER NOT NULL DEFAULT 0, language TEXT NOT NULL DEFAULT '', lines INTEGER NOT NULL DEFAULT 0,
  ignored INTEGER NOT NULL DEFAULT 0, grp INTEGER,
  symbol_state INTEGER NOT NULL DEFAULT 0, symbol_note TEXT NOT NULL DEFAULT '',
  UNIQUE(folder, name));

CREATE TABLE delta(file INTEGER PRIMARY KEY, bits INTEGER NOT NULL, signature BLOB NOT NULL);
CREATE INDEX delta_bits ON delta(bits);
CREATE TABLE file_groups(
  id INTEGER PRIMARY KEY, bits INTEGER NOT NULL, columns INTEGER NOT NULL, dead INTEGER NOT NULL DEFAULT 0,
  files BLOB NOT NULL);
CREATE TABLE block_runs(
  file INTEGER NOT NULL, first INTEGER NOT NULL, grp INTEGER NOT NULL, bits INTEGER NOT NULL, columns INTEGER NOT NULL,
  place INTEGER NOT NULL, starts BLOB NOT NULL, lines BLOB NOT NULL, continues BLOB NOT NULL, ranges BLOB NOT NULL,
  UNIQUE(file, first));
CREATE TABLE stages(file INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE TABLE group_rows(key INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE TABLE checkpoints(
  file INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, crc INTEGER, checked_ns INTEGER NOT NULL,
  PRIMARY KEY(file, start)) WITHOUT ROWID;

CREATE TABLE decodings(
  file INTEGER PRIMARY KEY, codec TEXT NOT NULL, way TEXT NOT NULL, size INTEGER NOT NULL, damage TEXT NOT NULL,
  points BLOB NOT NULL);
CREATE TABLE seek_windows(file INTEGER NOT NULL, grp INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(file, grp));

CREATE TABLE logs(file INTEGER PRIMARY KEY, rule TEXT NOT NULL, zone TEXT NOT NULL);
CREATE TABLE log_segments(
  file INTEGER NOT NULL, first INTEGER NOT NULL, line INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(file, first));
CREATE TABLE log_templates(
  file INTEGER NOT NULL, id INTEGER NOT NULL, masked TEXT NOT NULL, path TEXT NOT NULL,
  PRIMARY KEY(file, id)) WITHOUT ROWID;
CREATE TABLE log_shapes(
  file INTEGER NOT NULL, hash INTEGER NOT NULL, template INTEGER NOT NULL, PRIMARY KEY(file, hash)) WITHOUT ROWID;

CREATE TABLE symbol_sets(id INTEGER PRIMARY KEY, file INTEGER NOT NULL UNIQUE, symbols INTEGER NOT NULL);
CREATE TABLE symbol_rows(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE name_runs(
  id INTEGER PRIMARY KEY, last_set INTEGER NOT NULL, symbols INTEGER NOT NULL, first_block INTEGER NOT NULL);
CREATE TABLE name_blocks(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL, first BLOB NOT NULL, names BLOB NOT NULL, symbols BLOB NOT NULL,
  containers BLOB NOT NULL);
CREATE INDEX name_blocks_first ON name_blocks(run, first);
CREATE TABLE name_grams(id INTEGER PRIMARY KEY, blocks BLOB NOT NULL);
"""
"""Everything but its versions; `files.grp` names the group that holds a file's column, NULL while it is in `delta`."""


def rows_per_strip(columns: int) -> int:
    """Return how many rows of a group of so many columns have a checksum together."""
    return max(1, STRIP_BYTES // -(-columns // 8))


def rows_per_chunk(columns: int) -> int:
    """Return how many rows of a group of so many columns are stored in one blob: whole strips."""
    strip = rows_per_strip(columns)
    return strip * max(1, CHUNK_BYTES // (strip * -(-columns // 8) + SEAL_BYTES))
