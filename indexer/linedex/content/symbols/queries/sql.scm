[(comment) (marginalia)] @doc

(create_table (object_reference name: (_) @name)) @struct
(create_view (object_reference name: (_) @name)) @struct
(create_materialized_view (object_reference name: (_) @name)) @struct
(create_function (object_reference name: (_) @name)) @function
(create_procedure (object_reference name: (_) @name)) @function
; the table and the function of a trigger are references too
(create_trigger . (keyword_create) . (keyword_trigger) . (object_reference name: (_) @name)) @event
(create_index column: (identifier) @name) @object
(create_type (object_reference name: (_) @name)) @type
(create_schema (identifier) @name) @namespace
(create_sequence (object_reference name: (_) @name)) @variable
(column_definition name: (_) @name) @field
