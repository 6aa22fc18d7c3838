(comment) @doc
; private def f
(call method: (identifier) arguments: (argument_list . [(method) (singleton_method)] @inner .)) @wrap

(module name: (constant) @name) @module
(module name: (scope_resolution scope: (_) @container name: (_) @name)) @module
(class name: (constant) @name) @class
(class name: (scope_resolution scope: (_) @container name: (_) @name)) @class
(singleton_class value: (_) @name) @impl
(method name: (_) @name (#eq? @name "initialize")) @constructor
(method name: (_) @name) @method
(singleton_method object: (_) name: (_) @name) @method
(alias name: (_) @name) @method
(assignment left: [(constant) @name (scope_resolution name: (constant) @name)]) @constant
(call
  !receiver
  method: (identifier) @_maker
  arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_maker "attr_reader" "attr_writer" "attr_accessor")) @property
(call
  !receiver
  method: (identifier) @_maker
  arguments: (argument_list . (simple_symbol) @name)
  (#any-of? @_maker "define_method" "scope" "delegate" "alias_method")) @method
(program (call
  !receiver
  method: (identifier) @_maker
  arguments: (argument_list . (_) @name)
  block: (_)
  (#any-of? @_maker "describe" "context" "task" "namespace")) @function)
