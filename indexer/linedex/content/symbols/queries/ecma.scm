; what JavaScript and TypeScript share
(comment) @doc
(export_statement declaration: (_) @inner) @wrap

; object literals at file level are containers
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (object))) @object)
(program (variable_declaration (variable_declarator name: (identifier) @name value: (object))) @object)
(program (export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name value: (object))) @object))
(program (expression_statement
  (assignment_expression left: (member_expression object: (_) @container property: (_) @name) right: (object)) @object))

(class_declaration name: (_) @name) @class
(lexical_declaration (variable_declarator name: (identifier) @name value: (class))) @class
(variable_declaration (variable_declarator name: (identifier) @name value: (class))) @class
(class name: (_) @name) @class
(export_statement "default" @name value: (class !name)) @class

(method_definition name: (property_identifier) @name (#eq? @name "constructor")) @constructor
(method_definition ["get" "set"] name: (_) @name) @property
(method_definition name: (_) @name) @method

(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(export_statement "default" @name value: [(arrow_function) (function_expression !name)]) @function
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)])) @function
(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)])) @function
; React, MobX and Vue components
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: (call_expression
      function: (_) @_maker
      (#match? @_maker "(^|\\.)(forwardRef|memo|lazy|observer|styled|createContext|defineComponent)$")))) @function
; X.prototype.f = function
(assignment_expression
  left: (member_expression object: (_) @container property: (_) @name (#match? @container "\\.prototype$"))
  right: [(arrow_function) (function_expression) (generator_function)]) @method
(assignment_expression
  left: [
    (identifier) @name
    (member_expression
      object: (_) @container
      property: [(property_identifier) (private_property_identifier)] @name)]
  right: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression
  left: [
    (identifier) @name
    (member_expression object: (_) @container property: (property_identifier) @name)]
  right: (class)) @class
(assignment_expression
  left: (subscript_expression object: (_) @container index: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @function
; f = (function () {}) and f = (function () {})()
(assignment_expression
  left: [(identifier) @name (member_expression object: (_) @container property: (_) @name)]
  right: (parenthesized_expression [(arrow_function) (function_expression) (generator_function)])) @function
(assignment_expression
  left: [(identifier) @name (member_expression object: (_) @container property: (_) @name)]
  right: (call_expression
    function: (parenthesized_expression [(arrow_function) (function_expression) (generator_function)]))) @function
(variable_declarator
  name: (identifier) @name
  value: (call_expression
    function: (parenthesized_expression [(arrow_function) (function_expression) (generator_function)]))) @function
(pair
  key: [(property_identifier) (string) (number) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @method
(function_expression name: (identifier) @name) @function

(program (lexical_declaration "const" (variable_declarator name: (identifier) @name)) @constant)
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (export_statement (lexical_declaration "const" (variable_declarator name: (identifier) @name)) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @variable))
