package a.b

/** Data. */
@Ann
data class Point(val x: Int, var y: String, c: Int) {
  companion object {
    const val LIMIT = 1
  }
  constructor(x: Int) : this(x, "ä", 1) {}
  fun move() {
    fun local() {}
    val inner = 1
  }
}
class Named {
  companion object Factory {
  }
}
interface Shape {
  fun draw()
}
object Single { }
enum class Color { RED, GREEN }
typealias Id = Int
fun String.größe(): Int = 1
val top = 1
