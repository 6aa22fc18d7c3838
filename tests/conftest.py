"""What all tests share: a property is judged by what it finds, never by how long a busy machine takes over it."""

from hypothesis import settings

settings.register_profile("linedex", deadline=None)
settings.load_profile("linedex")
