(comment) @doc
; `type ( )` is widened only when it has one member
(type_declaration . [(type_spec) (type_alias)] @inner .) @wrap
(const_declaration . (const_spec) @inner .) @wrap
(var_declaration . (var_spec) @inner .) @wrap

(package_clause (package_identifier) @name) @package
(function_declaration name: (_) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (pointer_type (type_identifier) @container)
    (generic_type type: (_) @container)
    (pointer_type (generic_type type: (_) @container))]))
  name: (_) @name) @method
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(struct_type (field_declaration_list (field_declaration name: (_) @name) @field))
; an embedded field is named by its type
(struct_type (field_declaration_list (field_declaration
  !name
  type: [(type_identifier) @name (qualified_type name: (_) @name) (generic_type type: (_) @name)]) @field))
(interface_type (method_elem name: (_) @name) @method)
(source_file (const_declaration (const_spec name: (_) @name) @constant))
(source_file (var_declaration (var_spec name: (_) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @variable)))
