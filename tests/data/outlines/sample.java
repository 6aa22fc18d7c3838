package a.b;

/** A shop. */
@Service("x")
public class Shop<T> extends Base {
  static final int LIMIT = 1, MORE = 2;
  int count;
  Shop() {}
  /** Sells. */
  @Override
  public <U> void sell(int a) { Runnable r = () -> {}; class Local { void inner() {} } }
  enum Color { RED, GREEN { void shine() {} }; void mix() {} }
  interface Priced { int ZERO = 0; void price(); default void tax() {} }
  record Pair(int a, String b) { Pair { } }
  @interface Marked { int value() default 1; }
  void größe() { String s = "é"; }
}
