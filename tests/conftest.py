"""What all tests share: a property is judged by what it finds, never by how long a busy machine takes over it.

In CI each property draws the same examples for the same test, so that what fails there fails again with CI=1 at home,
and a change is not blamed for a mistake that chance found on that day. Everywhere else examples are drawn anew.
"""

import os

from hypothesis import settings

settings.register_profile("linedex", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("linedex")
