"""Packages that import what they export when it is first used, so that commands start at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType


def export_lazily(package: str, names: Mapping[str, Sequence[str]], modules: Sequence[str] = ()) -> None:
    """Let a package export names that are imported when they are first used.

    Parameters
    ----------
    package
        The package's `__name__`.
    names
        For each module inside the package, the names that the package exports from it.
    modules
        The modules inside the package that it exports as they are.

    >>> import meshwright
    >>> "Overlay" in dir(meshwright), "churn" in dir(meshwright)
    (True, True)
    """
    homes = {name: module for module, exported in names.items() for name in exported}

    class LazyPackage(ModuleType):
        def __getattr__(self, name: str) -> object:
            if name in modules:
                return import_module(f"{package}.{name}")
            if name not in homes:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = getattr(import_module(f"{package}.{homes[name]}"), name)
            self.__dict__[name] = value
            return value

        def __setattr__(self, name: str, value: object) -> None:
            # Python sets an attribute for each module that it imports; a function may have the same name.
            if not (name in homes and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*self.__dict__, *homes, *modules})

    sys.modules[package].__class__ = LazyPackage
