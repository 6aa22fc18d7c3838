"""A file's text and the way back: text, style, line ends, differences."""
