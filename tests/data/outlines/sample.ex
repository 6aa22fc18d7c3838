defmodule Shop.Cart do
  @moduledoc "é"
  @attr 1
  @type t :: integer
  @typep pair(a) :: {a, a}
  defstruct [:count, size: 1]

  # Adds.
  @doc "Adds."
  @spec add(integer) :: integer
  def add(x) when x > 0 do x end
  def add(_), do: 0
  def add(a, b), do: a + b
  defp hidden, do: 1
  defguard is_big when 1
  defmacro shout(x), do: x
  defmacro loud when 1
  defmacrop quiet, do: 1
  defmacro louder(x) when x, do: 1
  @callback call(term) :: any
  defmodule Inner do
    def z(), do: 1
  end
end
defmodule Failure do
  defexception message: "x"
end
defmodule Listed do
  defstruct [a: 1]
end
defprotocol Size do
  def size(x)
end
defimpl Size, for: Integer do
  def size(x), do: x
end
