[(comment) (attribute_list)] @doc

(namespace_definition name: (_) @name body: (_)) @namespace
(namespace_definition name: (_) @name !body) @namespace @open
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(enum_case name: (_) @name) @enummember
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name (#eq? @name "__construct")) @constructor
(method_declaration name: (_) @name) @method
(property_declaration (property_element name: (_) @name)) @property
(property_promotion_parameter name: (_) @name) @property
(const_declaration (const_element . (_) @name)) @constant
(function_call_expression
  function: (name) @_maker (#eq? @_maker "define")
  arguments: (arguments . (argument (_) @name))) @constant
