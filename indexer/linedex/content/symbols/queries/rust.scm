[(line_comment) (block_comment) (attribute_item)] @doc

(struct_item name: (_) @name) @struct
(field_declaration name: (_) @name) @field
(enum_item name: (_) @name) @enum
(enum_variant name: (_) @name) @enummember
(union_item name: (_) @name) @union
(trait_item name: (_) @name) @trait
(impl_item type: (generic_type type: (_) @name)) @impl
(impl_item type: (_) @name) @impl
(mod_item name: (_) @name) @module
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(type_item name: (_) @name) @type
(associated_type name: (_) @name) @type
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @variable
(macro_definition name: (_) @name) @macro
