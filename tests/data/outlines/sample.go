// Package shop sells.
package shop

// Point is one.
type Point struct {
	X, Y int
	*Base
	other.Thing
	Box[int]
}
type (
	// Alias of int.
	Alias = int
	Maker interface {
		Make(x int) error
		Other
	}
	Count int
)
type Single[T any] struct{ v T }

const (
	K1 = iota
	K2
)

var V, W = 1, 2
var (
	Z int
)

// Add adds.
func (p *Point) Add(q Point) Point { return p }
func (s *Single[T]) Get() T        { var local int; return s.v }
func (s Single[T]) Put(v T)        {}
func (Point) NoName()              {}
func Größe[T any](x T)             {}
func main()                        { f := func() {}; _ = f }

// Late is last.
const Late = 1
