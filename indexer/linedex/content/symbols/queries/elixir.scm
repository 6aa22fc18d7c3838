(comment) @doc
((unary_operator operator: "@" operand: (call target: (identifier) @_word)) @doc
  (#any-of? @_word "doc" "spec" "impl" "deprecated" "since" "typedoc"))

(call target: (identifier) @_word (arguments . (alias) @name) (#eq? @_word "defmodule")) @module
(call target: (identifier) @_word (arguments . (alias) @name) (#eq? @_word "defprotocol")) @interface
(call target: (identifier) @_word (arguments . (alias) @name) (#eq? @_word "defimpl")) @impl
(call target: (identifier) @name (#any-of? @name "defstruct" "defexception")) @struct
(call
  target: (identifier) @_word
  (arguments [
    (list (atom) @name)
    (list (keywords (pair key: (keyword) @name)))
    (keywords (pair key: (keyword) @name))])
  (#any-of? @_word "defstruct" "defexception")) @field

(call
  target: (identifier) @_word
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name (arguments) @arity)
    (binary_operator left: (call target: (identifier) @name (arguments) @arity) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")])
  (#any-of? @_word "defmacro" "defmacrop")) @macro
(call
  target: (identifier) @_word
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name (arguments) @arity)
    (binary_operator left: (call target: (identifier) @name (arguments) @arity) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")])
  (#any-of? @_word "def" "defp" "defdelegate" "defguard" "defguardp" "defn" "defnp")) @function
(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_word
    (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)]))
    (#any-of? @_word "type" "typep" "opaque"))) @type
(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_word
    (arguments . (binary_operator left: (call target: (identifier) @name)))
    (#any-of? @_word "callback" "macrocallback"))) @method
