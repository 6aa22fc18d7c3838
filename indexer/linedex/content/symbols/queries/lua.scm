(comment) @doc
(variable_declaration (assignment_statement) @inner) @wrap

(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (_) @container field: (_) @name)) @function
(function_declaration name: (method_index_expression table: (_) @container method: (_) @name)) @method
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @container field: (_) @name))
  (expression_list . value: (function_definition))) @function
(field name: (identifier) @name value: (function_definition)) @function
; a table of functions is a container
(chunk (variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (table_constructor))) @object))
(chunk (assignment_statement
  (variable_list . name: (_) @name)
  (expression_list . value: (table_constructor))) @object)
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @variable)
(chunk (assignment_statement (variable_list . name: (identifier) @name)) @variable)
