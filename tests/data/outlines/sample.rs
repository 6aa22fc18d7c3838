//! A crate.

/// A point.
#[derive(Debug)]
#[repr(C)]
pub struct Point<T> {
    pub x: T, // trailing
    y: i32,
}
pub struct Pair(u8, u8);
enum Event { Quit, Key(u8), Move { x: u8 } }
union Raw { a: u8 }
pub trait Shape { const N: usize; type Out; fn area(&self) -> f64; fn name(&self) -> String { String::new() } }
impl<T> Shape for Point<T> { fn area(&self) -> f64 { 0.0 } }
impl Pair {
    /// Makes one.
    #[inline]
    pub fn new() -> Self { fn inner() {} todo!() }
}
mod inner { pub(crate) fn größe() {} }
macro_rules! shout { () => {} }
const LIMIT: u8 = 1;
static GLOBAL: u8 = 2;
type Alias = u8;
extern "C" { fn external(a: i32); }
async unsafe fn last() {}
