(comment) @doc
(decorated_definition definition: (_) @inner) @wrap

(class_definition name: (identifier) @name) @class
(class_definition
  body: (block (function_definition name: (identifier) @name (#eq? @name "__init__")) @constructor))
(class_definition
  body: (block (decorated_definition
    (decorator (identifier) @_by (#any-of? @_by "property" "cached_property"))
    definition: (function_definition name: (identifier) @name) @property)))
(class_definition
  body: (block (decorated_definition
    (decorator (attribute attribute: (identifier) @_by (#any-of? @_by "setter" "deleter" "getter" "cached_property")))
    definition: (function_definition name: (identifier) @name) @property)))
(function_definition name: (identifier) @name) @function
(assignment left: (identifier) @name right: (lambda)) @function
(type_alias_statement left: (type (identifier) @name)) @type
(type_alias_statement left: (type (generic_type (identifier) @name))) @type

(module (expression_statement
  (assignment left: (identifier) @name (#match? @name "^_*[A-Z][A-Z0-9_]*$")) @constant))
(module (expression_statement (assignment left: (identifier) @name) @variable))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @variable))
; what a module defines by condition is still its own
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @variable))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name) @variable))))

(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
