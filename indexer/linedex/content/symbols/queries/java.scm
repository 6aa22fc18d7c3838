[(line_comment) (block_comment)] @doc

(package_declaration (_) @name) @package
(module_declaration name: (_) @name) @module
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(annotation_type_element_declaration name: (_) @name) @method
(enum_declaration name: (_) @name) @enum
(enum_constant name: (_) @name body: (_)) @enummember
(enum_constant name: (_) @name) @enummember
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @constructor
(compact_constructor_declaration name: (_) @name) @constructor
(field_declaration
  (modifiers "static" "final")
  declarator: (variable_declarator name: (_) @name)) @constant
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(interface_body (constant_declaration declarator: (variable_declarator name: (_) @name)) @constant)
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @field))
