[(comment) (haddock)] @doc

(header module: (_) @name) @module
(data_type name: (_) @name) @struct
(newtype name: (_) @name) @struct
(type_synonym name: (_) @name) @type
(type_family name: (_) @name) @type
(data_constructor (_ name: (_) @name)) @enummember
(newtype_constructor name: (_) @name) @enummember
(field name: (_) @name) @field
(class name: (_) @name) @interface
(instance name: (_) @name) @impl
(declarations (signature name: (_) @name) @function)
(declarations (function name: (_) @name) @function)
(declarations (bind name: (_) @name) @function)
(class_declarations (signature name: (_) @name) @method)
(class_declarations (signature names: (binding_list (_) @name)) @method)
(instance_declarations (function name: (_) @name) @method)
(instance_declarations (bind name: (_) @name) @method)
(pattern_synonym (signature synonym: (_) @name)) @function
