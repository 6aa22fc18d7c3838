(comment) @doc

(rule_set (selectors) @name) @class
(media_statement "@media" @name (_)* @name . (block)) @namespace
(supports_statement "@supports" @name (_)* @name . (block)) @namespace
(keyframes_statement (keyframes_name) @name) @function
(at_rule (at_keyword) @name (_)* @name . (block)) @namespace
; what stands between a keyword and its block may be an error to the grammar
(at_rule (at_keyword) @name) @namespace
(stylesheet (rule_set (block (declaration (property_name) @name (#match? @name "^--")) @variable)))
