"""Find faults in the syntax tree of Python modules."""

import ast
import re

from qa.mutants.mutant import ROOT, Mutant, line_with, numbered

OPERATORS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}
# Arguments that only affect messages and the style of pictures.
SPOKEN = (ast.Raise, ast.Assert, ast.JoinedStr)
COSMETIC = {
    *("lw", "ms", "mew", "mfc", "dpi", "alpha", "figsize", "fontsize", "rotation", "ncols"),
    *("stacklevel", "frozen", "maxsize", "indent", "width_ratios", "pad", "labelpad", "frameon"),
}
NOT_FOR_TESTS = {"__repr__", "__str__", "_report", "set_figheight", "print", "warn"}
# Code that does not affect results, so that no test can detect a fault in it.
CHECKING = {"zip"}  # calls whose keywords are only assertions
AT_ONCE = "AT_ONCE"  # suffix of constants that set the size of chunks


def python_mutants(file):
    """Return the faults of a module in source order."""
    source = (ROOT / file).read_bytes()
    finder = Finder(file, source)
    finder.visit(ast.parse(source))
    return list(numbered(sorted(finder.found, key=lambda each: (each.start, each.text))))


class Finder(ast.NodeVisitor):
    """Visitor that collects the faults of a module and skips code without effect on results."""

    def __init__(self, file, source):
        self.file, self.source, self.found, self.place = file, source, [], []
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node):
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def add(self, start, end, text):
        before, after = line_with(self.source, start, end, text)
        place = ".".join(self.place) or "module"
        self.found.append(Mutant(self.file, place, start, end, text, before, after))

    def replace(self, node, text):
        self.add(*self.span(node), text)

    def between(self, left, right, operator):
        """Replace the operator between two operands."""
        old, new = OPERATORS[type(operator)]
        start, end = self.span(left)[1], self.span(right)[0]
        found = re.search(
            rf"(?<![\w=<>!*/]){re.escape(old)}(?![\w=*/])".encode(), self.source[start:end]
        )
        if found:
            self.add(start + found.start(), start + found.end(), new)

    # -- traversal ----------------------------------------------------------------------------

    def inside(self, node, children):
        self.place.append(node.name)
        for child in children:
            self.visit(child)
        self.place.pop()

    def visit_FunctionDef(self, node):
        if node.name in NOT_FOR_TESTS:
            return
        self.inside(node, [*_defaults_that_are_read(node), *node.body])

    def visit_ClassDef(self, node):
        self.inside(node, node.body)

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)

    def visit_If(self, node):
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in NOT_FOR_TESTS or name == "cast":
            return
        keywords = [] if name in CHECKING else [k for k in node.keywords if k.arg not in COSMETIC]
        for child in (node.func, *node.args, *keywords):
            self.visit(child)

    def generic_visit(self, node):
        if not isinstance(node, SPOKEN):
            super().generic_visit(node)

    # -- faults -----------------------------------------------------------------------------

    def visit_Compare(self, node):
        if getattr(node.left, "attr", "") == "version_info":  # the tests use one version
            return
        operands = [node.left, *node.comparators]
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            self.between(left, right, operator)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        self.between(node.values[0], node.values[1], node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        texts = any(map(_is_text, (node.left, node.right)))
        if type(node.op) in OPERATORS and not texts:
            self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, (ast.Not, ast.USub)):
            start, end = self.span(node.operand)
            self.replace(node, f"({self.source[start:end].decode()})")
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self.replace(node, repr(not value))
        elif isinstance(value, int):
            self.replace(node, repr(value + 1 if value < 20 else value * 2))
        elif isinstance(value, float):
            usual = (
                1e-6 < abs(value) < 1e6
            )  # others are guards, for which a factor of two has no effect
            self.replace(node, repr(value * 2 if usual else 1.0))

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):  # a docstring
            return
        name = getattr(getattr(node.value, "func", None), "attr", "")
        spoken = getattr(getattr(node.value, "func", None), "id", name) in NOT_FOR_TESTS
        if isinstance(node.value, ast.Call) and not spoken and not name.startswith("set_"):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node):
        if getattr(node.targets[0], "id", "").endswith(AT_ONCE):
            return
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node):
        simple = (ast.Constant, ast.Compare, ast.BoolOp, ast.BinOp)
        if node.value is not None and not isinstance(node.value, simple):
            self.replace(node, "return None")
        self.generic_visit(node)


def _defaults_that_are_read(function):
    """Return the defaults of arguments that the function uses."""
    names = {each.id for part in function.body for each in ast.walk(part) if hasattr(each, "id")}
    given, every = function.args, "locals" in names
    plain = [*given.posonlyargs, *given.args]
    pairs = [*zip(plain[::-1], given.defaults[::-1], strict=False)][::-1]
    pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [default for argument, default in pairs if default and (every or argument.arg in names)]


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", 0), (str, bytes))
