[(line_comment) (block_comment)] @doc

(package_header (qualified_identifier) @name) @package
(class_declaration "interface" name: (_) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (_) @name) @enum
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @object
(companion_object name: (_) @name) @object
(companion_object "companion" @name !name) @object
(enum_entry (identifier) @name) @enummember
(function_declaration name: (_) @name) @function
(secondary_constructor "constructor" @name) @constructor
(source_file (property_declaration (variable_declaration (identifier) @name)) @property)
(class_body (property_declaration (variable_declaration (identifier) @name)) @property)
(class_parameter ["val" "var"] (identifier) @name) @property
(type_alias type: (_) @name) @type
