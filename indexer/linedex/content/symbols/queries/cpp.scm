; comes before c.scm
(template_declaration (_) @inner .) @wrap

(namespace_definition name: (_) @name) @namespace
(class_specifier name: (type_identifier) @name body: (_)) @class
(class_specifier name: (template_type name: (_) @name) body: (_)) @class
(class_specifier name: (qualified_identifier scope: (_) @container name: (_) @name) body: (_)) @class
(struct_specifier name: (template_type name: (_) @name) body: (_)) @struct
(struct_specifier name: (qualified_identifier scope: (_) @container name: (_) @name) body: (_)) @struct
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @interface
; members that are only declared; a pointer to a function is a field
(field_declaration_list (declaration declarator: (function_declarator declarator: (_) @declarator)) @method)
(field_declaration_list (declaration declarator: (operator_cast) @declarator) @method)
(field_declaration_list (field_declaration
  declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name) (destructor_name)] @name)
    (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (pointer_declarator declarator: (pointer_declarator
      declarator: (function_declarator declarator: (field_identifier) @name)))]) @method)
(field_declaration_list (template_declaration (declaration declarator: (function_declarator
  declarator: (_) @declarator)) @method))
