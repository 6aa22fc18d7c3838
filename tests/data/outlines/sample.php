<html><?php
namespace A\B;

/** A cart. */
#[Entity]
abstract class Cart extends Base {
  const LIMIT = 1, MORE = 2;
  public int $count = 1;
  public function __construct(private int $size) {}
  /** Adds. */
  public static function add() { function inner() {} }
}
interface Shape { function draw(); }
trait Loud { function shout() {} }
enum Color: string { case Red = 'ä'; }
namespace C;
function plain() {}
define('LATE', 1);
const TOP = 1;
