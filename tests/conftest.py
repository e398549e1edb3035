"""How hypothesis works here: the same examples in every run, and no clock."""

from hypothesis import settings

settings.register_profile("meshwright", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("meshwright")
