(comment) @doc

(function_definition declarator: (_) @declarator) @function
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @union
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (_) @name) @enummember
(type_definition declarator: (_) @declarator) @type
(field_declaration declarator: (_) @declarator) @field
(translation_unit (declaration declarator: (init_declarator declarator: (_) @declarator)) @variable)
