[(comment) (multiline_comment)] @doc

(class_declaration declaration_kind: "extension" name: (_) @name) @impl
(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
(enum_entry name: (_) @name) @enummember
(function_declaration name: (_) @name) @function
(protocol_function_declaration name: (_) @name) @method
(init_declaration "init" @name) @constructor
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @property)
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @property)
(enum_class_body (property_declaration name: (pattern (simple_identifier) @name)) @property)
(protocol_property_declaration name: (pattern (simple_identifier) @name)) @property
; two fields of an alias are called `name`
(typealias_declaration "typealias" . name: (type_identifier) @name) @type
(associatedtype_declaration name: (_) @name) @type
(macro_declaration (simple_identifier) @name) @macro
