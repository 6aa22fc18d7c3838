const std = @import("std");
/// A point.
pub const Point = struct {
    x: u8,
    pub fn move(self: Point) void { const local = 1; }
    const limit = 1;
};
const Color = enum { red, green };
const Raw = union(enum) { a: u8 };
const Handle = opaque {};
const Err = error{ NotFound, Denied };
pub fn main(a: u8) u8 { return a; }
var global: u8 = 1;
test "näme" {}
