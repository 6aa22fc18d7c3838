(comment) @doc

(function_declaration name: (_) @name) @function
(variable_declaration (identifier) @name (struct_declaration)) @struct
(variable_declaration (identifier) @name (enum_declaration)) @enum
(variable_declaration (identifier) @name (union_declaration)) @union
(variable_declaration (identifier) @name (opaque_declaration)) @struct
(variable_declaration (identifier) @name (error_set_declaration)) @enum
(error_set_declaration (identifier) @name @enummember)
(source_file (variable_declaration "const" (identifier) @name) @constant)
(source_file (variable_declaration "var" . (identifier) @name) @variable)
(struct_declaration (variable_declaration "const" (identifier) @name) @constant)
(enum_declaration (container_field name: (_) @name) @enummember)
(container_field name: (_) @name) @field
(test_declaration [(string) (identifier)] @name) @function
