"""Finds places where code goes through a set, as far as one can see that without running it.

A name counts as a set where the function or the module gives it a set's value or annotation, an attribute where any
place in the module does. What a function returns, and what is in a container, is not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["iterated_sets"]

_SETS = {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}
_UNIONS = {"union", "intersection", "difference", "symmetric_difference", "copy"}
_IN_ORDER = {"list", "tuple", "iter", "enumerate", "zip", "map", "filter", "next", "reversed", "deque", "dict"}
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def iterated_sets(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and text of each set whose order a statement takes."""
    attributes = {what.attr for what in _known_sets(tree, nested=True) if isinstance(what, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            attributes |= {what.id for what in _known_sets(node, nested=False) if isinstance(what, ast.Name)}
    return sorted(set(_look(tree, set(), attributes)))


def _look(scope: ast.AST, outer: set[str], attributes: set[str]) -> Iterator[tuple[int, str]]:
    names = outer | {what.id for what in _known_sets(scope, nested=False) if isinstance(what, ast.Name)}
    for node in _inside(scope):
        for taken in _taken_in_order(node):
            if _is_set(taken, names, attributes):
                yield taken.lineno, ast.unparse(taken)
        if isinstance(node, _Scope):
            yield from _look(node, names, attributes)


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without those inside of inner functions."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _Scope):
            yield from _inside(child)


def _taken_in_order(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return [node.iter]
    if isinstance(node, ast.Starred):
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _IN_ORDER:
        return list(node.args)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "pop" and not node.args:
            return [node.func.value]
        if node.func.attr in ("extend", "join", "fromkeys"):
            return list(node.args)
    return []


def _known_sets(scope: ast.AST, *, nested: bool) -> Iterator[ast.expr]:
    """Targets that are given a set's value or annotation."""
    if isinstance(scope, _Scope):
        every = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]
        for argument in every:
            if argument.annotation is not None and _is_set_type(argument.annotation):
                yield ast.Name(argument.arg)
    for node in ast.walk(scope) if nested else _inside(scope):
        if isinstance(node, ast.AnnAssign) and _is_set_type(node.annotation):
            yield node.target
        elif isinstance(node, ast.Assign) and _is_set(node.value, set(), set()):
            yield from node.targets


def _is_set_type(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.partition("[")[0].rpartition(".")[2] in _SETS
    if isinstance(annotation, ast.Subscript):
        if isinstance(annotation.value, ast.Name | ast.Attribute) and _last(annotation.value) in ("Final", "ClassVar"):
            return _is_set_type(annotation.slice)
        return _is_set_type(annotation.value)
    if isinstance(annotation, ast.BinOp):
        return _is_set_type(annotation.left) or _is_set_type(annotation.right)
    return isinstance(annotation, ast.Name | ast.Attribute) and _last(annotation) in _SETS


def _is_set(value: ast.expr, names: set[str], attributes: set[str]) -> bool:
    if isinstance(value, ast.Set | ast.SetComp):
        return True
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name):
            return value.func.id in ("set", "frozenset")
        return (
            isinstance(value.func, ast.Attribute)
            and value.func.attr in _UNIONS
            and _is_set(value.func.value, names, attributes)
        )
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return _is_set(value.left, names, attributes) or _is_set(value.right, names, attributes)
    if isinstance(value, ast.Name):
        return value.id in names
    return isinstance(value, ast.Attribute) and value.attr in attributes


def _last(name: ast.Name | ast.Attribute) -> str:
    return name.id if isinstance(name, ast.Name) else name.attr
