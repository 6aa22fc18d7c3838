[(comment) (block_comment)] @doc

(package_clause name: (_) @name) @package
(package_object name: (_) @name) @object
(trait_definition name: (_) @name) @trait
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @object
(enum_definition name: (_) @name) @enum
(simple_enum_case name: (_) @name) @enummember
(full_enum_case name: (_) @name) @enummember
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(given_definition name: (_) @name) @constant
(extension_definition) @scope
(template_body (val_definition pattern: (identifier) @name) @constant)
(template_body (var_definition pattern: (identifier) @name) @variable)
(template_body (val_declaration name: (_) @name) @constant)
(template_body (var_declaration name: (_) @name) @variable)
(compilation_unit (val_definition pattern: (identifier) @name) @constant)
(type_definition name: (_) @name) @type
(class_parameter ["val" "var"] name: (_) @name) @property
