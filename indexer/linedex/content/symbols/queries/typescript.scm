(ambient_declaration (_) @inner) @wrap
(decorator) @doc

(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(enum_body name: (_) @name @enummember)
(enum_body (enum_assignment name: (_) @name) @enummember)
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
(public_field_definition name: (_) @name) @field
(interface_body (property_signature name: (_) @name) @property)
