(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
(field_definition property: (_) @name) @field
(decorator) @doc
