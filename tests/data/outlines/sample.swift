/// A cart.
@objc public class Cart: Base {
  let count = 1
  var price: Int { 1 }
  init() {}
  deinit {}
  func add(_ a: Int) { let local = 1 }
  subscript(i: Int) -> Int { 1 }
}
struct Point<T> { }
/* Colors. */
enum Color { case red, green(Int); var name: String { "é" } }
protocol Shape { func draw(); var area: Int { get }; associatedtype Unit }
extension Cart { func more() {} }
typealias Größe = Int
func top() {}
let limit = 1
actor Worker { }
@freestanding(expression) macro stringify(_ value: Int) -> String = #externalMacro(module: "M", type: "T")
