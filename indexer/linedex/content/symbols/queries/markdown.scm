(section . (atx_heading heading_content: (_) @name)) @string
(section . (setext_heading heading_content: (_) @name)) @string
; a setext heading inside another's section is not its first child
(setext_heading heading_content: (_) @name) @string
