"""Count the operations of RuleBench's methods: unlike seconds, the same on every machine.

An operation is an operator, a comparison, an index or a call in secateur's own code. It counts once for each element of
the largest array, list, tuple, set or dict that it is given or gives; a view, and what looks at no element, counts
once. Nothing is compiled, so that every loop is seen. What a library does inside one call is not seen: fitting a pruned
tree counts as the cells of its rows.

What is counted is the code that runs: as secateur is imported, every such expression is wrapped in a call that counts.
``python -m benchmarks.rulebench_operations`` counts on CART trees; finished splits are kept in ``--output``. With
``--store`` it then fills the column of the stored results, if these have the same lengths.
"""

import ast
import builtins
import importlib.machinery
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

__all__ = ["Counter", "Wrapper", "count", "install", "store"]

PACKAGE = "secateur"
TREES = ("cart-4", "cart-6", "cart-unpruned", "cart-pruned")  # by default: solvers take long
SIZED = (np.ndarray, list, tuple, set, frozenset, dict)
ASKS_ITS_FRAME = {"super", "locals", "globals", "vars", "eval", "exec"}  # so nothing else may call it
LOOKS_AT_NO_ELEMENT = {
    *("len", "isinstance", "issubclass", "getattr", "hasattr", "setattr", "id", "type", "iter", "next", "callable"),
    *("zip", "enumerate", "reversed", "range", "append", "add", "get", "pop", "items", "keys", "values"),
    *("partial", "replace", "field", "cast"),
}
SAME = ("leaves", "edges", "conditions", "lines")  # of a stored row and of the run whose operations were counted


class Counter:
    """The number of operations so far."""

    def __init__(self) -> None:
        self.n = 0

    def operator(self, found: Any) -> Any:
        """Count what an operator or a comparison gave; give it back."""
        self.n += _size(found)
        return found

    def index(self, found: Any) -> Any:
        """Count what an index gave, or what stands in an array that was changed; give it back."""
        self.n += found.size if isinstance(found, np.ndarray) and found.base is None else 1
        return found

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function, and count it."""
        found = function(*args, **kwargs)
        home, given = getattr(function, "__module__", None) or "", (getattr(function, "__self__", None), *args)
        is_free = getattr(function, "__name__", "") in LOOKS_AT_NO_ELEMENT and not home.startswith("numpy")
        if is_free or home.startswith(PACKAGE) or _is_view(found, given):  # secateur's own operations are counted
            self.n += 1
        else:
            owner = (
                given[0] if isinstance(given[0], np.ndarray) else None
            )  # a list or dict looks at one place of itself
            self.n += max(map(_size, (found, owner, *args, *kwargs.values())))
        return found


def _size(one: Any) -> int:
    return one.size if isinstance(one, np.ndarray) else len(one) if isinstance(one, SIZED) else 1


def _is_view(found: Any, given: Sequence[Any]) -> bool:
    """Whether what a call gave is what it was given, or a view of the same array."""
    base = getattr(found, "base", None)
    return any(
        one is found or (base is not None and (base is one or base is getattr(one, "base", None))) for one in given
    )


counter = Counter()


def _call(name: str, *given: Any) -> ast.Call:
    return ast.Call(ast.Name(f"__counted_{name}__", ast.Load()), list(given), [])


class Wrapper(ast.NodeTransformer):
    """Wrap every operation of a module in a call that counts it."""

    def visit_BinOp(self, node: Any) -> Any:
        """Count what an operator gives."""
        self.generic_visit(node)
        return _call("operator", node)

    visit_UnaryOp = visit_Compare = visit_BinOp

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Count what an index gives; not a place that is assigned to."""
        self.generic_visit(node)
        return _call("index", node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> Any:
        """Let the counter call."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ASKS_ITS_FRAME:
            return node
        counted = _call("call", node.func, *node.args)
        counted.keywords = node.keywords
        return counted

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Count what is assigned to places of an array."""
        self.generic_visit(node)
        if any(isinstance(target, ast.Subscript) for target in node.targets):
            node.value = _call("index", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Count ``a += b`` as the array ``a``, or as ``b`` where ``a`` is a place of an array."""
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            return [node, ast.Expr(_call("index", ast.Name(node.target.id, ast.Load())))]
        node.value = _call("index", node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Leave types as they are written: dataclasses read them."""
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        """Leave types as they are written."""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Leave types as they are written."""
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        """Leave patterns as they are written: they are no expressions."""
        node.guard = None if node.guard is None else self.visit(node.guard)
        node.body = [self.visit(one) for one in node.body]
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Load a module with its operations wrapped; nothing is kept on disk."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the wrapped source."""
        tree = Wrapper().visit(ast.parse(self.get_data(self.path), self.path))
        found: CodeType = compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; what that does is not counted, for only the first who needs it would pay."""
        before = counter.n
        super().exec_module(module)
        counter.n = before


class Finder(importlib.machinery.PathFinder):
    """Find secateur's modules, to load them wrapped."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find a module of secateur."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Count what secateur does from its import on."""
    if PACKAGE in sys.modules:
        raise RuntimeError("Expected secateur not to be imported yet: what is imported already is not counted.")
    for name in ("operator", "index", "call"):
        setattr(builtins, f"__counted_{name}__", getattr(counter, name))
    sys.meta_path.insert(0, Finder)
    from secateur.kernels import running

    running._has_numba = lambda: False


def count(method: Callable[..., Any], model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Run a method of secateur's on a tree, and count; tell how long its rules are, too."""
    _forget()
    counter.n = 0
    rules = method(model, X, y)
    n = counter.n
    told = {} if rules is None else {"conditions": rules.n_conditions, "lines": rules.n_lines, "operations": n}
    return {"failed": None, **told}


def _forget() -> None:
    """Forget what calls before left behind: tables that were computed once, and how much plain code has worked."""
    from secateur.kernels.running import done

    done.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGE) and not name.startswith(f"{PACKAGE}.lab"):
            for one in vars(module).values():
                if isinstance(one, _lru_cache_wrapper):
                    one.cache_clear()


def measure(arm: Any, data: Any, split: int) -> dict[str, Any]:
    """Count on one split of a data set."""
    from secateur.lab.rulebench.run import _list_methods, _read, split_rows

    X, _, y, _ = split_rows(data, split)
    try:
        model = arm.fit(data, split, X, y)
    except RuntimeError:  # a tree that was not proved optimal is told by the run itself
        return {"rows": []}
    source = _read(model, X, y)
    of_tree = {"leaves": len(source), "edges": source.n_edges}
    rows = [{"method": name, **of_tree, **count(method, model, X, y)} for name, method in _list_methods().items()]
    return {"rows": rows}


def store(counted: Sequence[Mapping[str, Any]], place: Path) -> list[str]:
    """Fill the column of stored results, and list the rows that are not the stored ones; then nothing is written."""
    from secateur.lab.rulebench.results import KEYS, Results

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in KEYS)

    results, found = Results.from_parquet(place), Results.gather(counted)
    mine = {key(row): row for row in found.rows}
    rows = [row | {"operations": mine[key(row)]["operations"]} for row in results.rows if key(row) in mine]
    differing = [
        f"{' '.join(map(str, key(row)))}: {[row[name] for name in SAME]}, now {[mine[key(row)][name] for name in SAME]}"
        for row in rows
        if any(row[name] != mine[key(row)][name] for name in SAME)
    ]
    if not differing:
        results.join(Results(rows, found.versions)).to_parquet(place)
    return differing


def main() -> None:
    """Count, or store what was counted."""
    parser = ArgumentParser(description="Count the operations of RuleBench's methods.")
    parser.add_argument("--datasets", help="names, with commas between; all by default")
    parser.add_argument("--trees", default=",".join(TREES), help="kinds of trees, with commas between")
    parser.add_argument("--splits", default=10, type=int, help="number of splits of each data set")
    parser.add_argument("--data-dir", help="where the published files and KEEL's wheel are")
    parser.add_argument("--output", default="rulebench", type=Path, help="where finished splits are kept")
    parser.add_argument("--store", action="store_true", help="fill the column of the stored results")
    asked = parser.parse_args()
    if asked.store:
        from secateur.lab.rulebench.results import STORED

        kept = sorted((asked.output / "operations").rglob("*.json"))
        differing = store([json.loads(path.read_text(encoding="utf-8")) for path in kept], Path(str(STORED)))
        sys.exit("\n".join(["Nothing is stored, for these differ:", *differing]) if differing else None)
    install()
    from secateur.lab.protocol import Study, run_arm
    from secateur.lab.rulebench.data import SOURCES, load_bench
    from secateur.lab.rulebench.trees import KINDS

    measure(KINDS["cart-6"], load_bench("iris"), 0)  # what is imported when it is first needed
    names = list(SOURCES) if asked.datasets is None else asked.datasets.split(",")
    for tree in asked.trees.split(","):
        run_arm(
            *(KINDS[tree], names, asked.splits, asked.output),
            n_jobs=1,
            data_dir=asked.data_dir,
            progress=lambda name, tree=tree: print(tree, name, flush=True),
            study=Study("operations", measure, load=load_bench),
            left_out={},
        )


if __name__ == "__main__":
    main()
