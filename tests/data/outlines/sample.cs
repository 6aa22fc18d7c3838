using System;
namespace N.M;

/// <summary>A cart.</summary>
[Serializable]
public class Cart<T> : Base {
  const int Limit = 1;
  int count, size;
  public Cart() {}
  ~Cart() {}
  public int Price { get; set; }
  public int this[int i] => 1;
  event Action Changed;
  public event Action Custom { add {} remove {} }
  void Add<U>() { void Local() {} }
  public static Cart operator +(Cart a, Cart b) => a;
  public static implicit operator int(Cart a) => 1;
}
record Pair(int A);
struct Point { }
interface IShape { void Draw(); }
enum Color { Red, Größe = 2 }
delegate void Handler(int x);
