package a.b

interface OneLine { fun draw() }
class After(val x: Int) {
  fun kept(): Int {
    return 1
  }
  companion object { const val LIMIT = 1 }
}
// class Commented { }
val text = "class Quoted {"
object Last
