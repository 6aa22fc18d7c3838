(comment) @doc
; a heading's name is all of its content, inline tags taken off
(element (start_tag (tag_name) @_heading (#match? @_heading "^([hH][1-6]|title)$")) (_)* @name (end_tag)) @string
(element (start_tag (tag_name) @name
  (#any-of? @name "head" "body" "main" "nav" "header" "footer" "section" "article" "aside" "template" "form"))) @object
(script_element (start_tag (tag_name) @name)) @module
(style_element (start_tag (tag_name) @name)) @module
(attribute
  (attribute_name) @_id (#any-of? @_id "id" "ID")
  [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name]) @key
