package a.b

/** A cart. */
class Cart[T](val size: Int, y: Int) extends Base {
  def add(a: Int): Int = { val local = 1; a }
  val limit = 1
  var count = 2
  type Id = Int
}
// An object.
object Main { def apply() = 1 }
package object tools { val x = 1 }
trait Shape { def area: Int; val w: Int; var h: Int }
enum Color { case Red, Green; case Other(x: Int) }
given ordering: Int = 1
extension (s: String) def shout = 1
def größe = 1
val top = 1
case class Pair(a: Int)
