"""A shop; näive text before the first symbol."""

import functools

LIMIT = 3  # a trailing comment is not the next symbol's doc
names, sizes = [], {}
total: int = 0
double = lambda x: x * 2  # noqa
type Price = float
type Pair[T] = tuple[T, T]

if LIMIT:
    fallback = 1
try:
    import fast
except ImportError:
    fast = None
try:
    speed = fast.speed
except AttributeError:
    pass


# Keeps what is bought.
# In order.
@functools.total_ordering
@register(1)
class Cart(Base):
    """A cart."""

    count: int = 0
    key = lambda self: self.count

    def __init__(self):
        local = 1
        self.items = []

    @property
    def price(self):
        return 1

    @price.setter
    def price(self, value):
        pass

    # Adds one.
    async def add(
        self,
        item,
        count=1,
    ):
        def inner():
            return count

        class Local:
            depth = 2

        return inner

    class Größe:
        def tief(self): return "é"; x = 1


def été(a,
        b): return a


if True:
    def conditional(): pass
