(comment) @doc
(declaration_command . (variable_assignment) @inner .) @wrap

(function_definition name: (_) @name) @function
(program (variable_assignment name: (_) @name) @variable)
(program (declaration_command (variable_assignment name: (_) @name) @variable))
(command
  name: (command_name (word) @_alias (#eq? @_alias "alias"))
  . argument: [(concatenation (word) @name) (word) @name]) @function
