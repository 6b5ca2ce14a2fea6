"""Find faults in C++ source text: in conditions, values and simple statements.

Each becomes a switch: ``AGGRO_MUTANT(7) ? (changed) : (as it is)``.
"""

import re

from qa.mutants.mutant import ROOT, Mutant, line_with, numbered

HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
    re.DOTALL | re.MULTILINE,
)
HINT = re.compile(r"[\w.]*prefetch\([^;{}]*\);")  # processor hints do not change results
CONDITION = re.compile(r"\b(?:if|while) \(")
LOOP = re.compile(r"\bfor \(")
RETURN = re.compile(r"\breturn ")
VALUE = re.compile(r"(?<![=<>!+\-*/|&^%]) [+\-*/]?= ")
STATEMENT = re.compile(r"(?<=[;{}\)\n])[ \n]*(?=[a-z_][\w.\->\[\]\(\)]*(?:\(| [+\-*/]?= |\+\+|--))")
CHANGES = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r" < ", " <= "),
        (r" <= ", " < "),
        (r" > ", " >= "),
        (r" >= ", " > "),
        (r" == ", " != "),
        (r" != ", " == "),
        (r" && ", " || "),
        (r" \|\| ", " && "),
        (r"(?<=[\w\)\]]) \+ ", " - "),
        (r"(?<=[\w\)\]]) - ", " + "),
        (r"(?<=[\w\)\]]) \* ", " / "),
        (r"(?<=[\w\)\]]) / ", " * "),
        (r"\bstd::max\b", "std::min"),
        (r"\bstd::min\b", "std::max"),
        (r"\btrue\b", "false"),
        (r"\bfalse\b", "true"),
        (r"(?<![\w.:<])(?:0|[1-9]\d*)(?![\w.>:])", None),  # incremented
        (r"!(?=[\w\(])", ""),
    )
]
# Statements that start with one of these are not expressions.
WORDS = {
    *("using", "template", "constexpr", "static", "enum", "typename", "namespace", "struct"),
    *("class", "public", "private", "explicit", "friend", "return", "throw", "case", "break"),
    *("continue", "else", "delete", "if", "for", "while", "do", "switch", "goto"),
    "m",  # the nanobind module: definitions cannot be skipped
}


def cpp_mutants(file):
    """Return the faults of a source file; in their text, @ stands for the number of the switch."""
    source = (ROOT / file).read_text()
    masked = _without_hints(HIDDEN.sub(lambda found: _blank(found.group()), source))
    found = []
    for start, end in sorted({*_conditions(masked), *_values(masked)}):
        expression, shown = source[start:end], masked[start:end]
        if not expression.strip() or any(mark in shown for mark in "{};?") or "constexpr" in shown:
            continue
        for changed in _changes(expression, shown):
            text = f"AGGRO_MUTANT(@) ? ({changed}) : ({expression})"
            found.append(_mutant(file, source, start, end, text, changed))
    for start, end in _statements(masked):
        text = f"{{ if (!AGGRO_MUTANT(@)) {source[start:end]}; }}"
        found.append(_mutant(file, source, start, end + 1, text, ";"))
    return list(numbered(sorted(found, key=lambda each: (each.start, each.text))))


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _without_hints(masked):
    """Blank out prefetch statements with the conditions and loops around them."""
    for hit in HINT.finditer(masked):
        start = hit.start()
        while (head := _head(masked[:start].rstrip())) is not None:
            start = head
        masked = masked[:start] + _blank(masked[start : hit.end()]) + masked[hit.end() :]
    return masked


def _mutant(file, source, start, end, text, changed):
    raw = source.encode()
    start, end = (len(source[:at].encode()) for at in (start, end))
    before, after = line_with(raw, start, end, changed)
    return Mutant(file, "", start, end, text, before, after)


def _changes(expression, shown):
    for pattern, text in CHANGES:
        for hit in pattern.finditer(shown):
            new = str(int(hit.group()) + 1) if text is None else text
            yield expression[: hit.start()] + new + expression[hit.end() :]


def _conditions(masked):
    for hit in CONDITION.finditer(masked):
        end = _closing(masked, hit.end())
        yield hit.end(), end
    for hit in LOOP.finditer(masked):
        parts = _split(masked, hit.end(), _closing(masked, hit.end()))
        if len(parts) == 3:
            start, end = parts[1]
            yield start + 1, end


def _values(masked):
    for pattern in (RETURN, VALUE):
        for hit in pattern.finditer(masked):
            line = masked[masked.rfind("\n", 0, hit.start()) + 1 : hit.start()]
            if "constexpr" in line or "using" in line or "template" in line or "operator" in line:
                continue
            end = _end_of_statement(masked, hit.end())
            if end is not None:
                yield hit.end(), end


def _statements(masked):
    for hit in STATEMENT.finditer(masked):
        start = hit.end()
        word = re.match(r"\w+", masked[start:]).group()
        end = _end_of_statement(masked, start)
        if end is None or word in WORDS or any(mark in masked[start:end] for mark in "{}"):
            continue
        previous = masked[:start].rstrip()
        if previous.endswith((";", "{", "}", " else")) or _head(previous) is not None:
            yield start, end


def _head(previous):
    """Return the start of the if or loop whose body comes next, or None."""
    if not previous.endswith(")"):
        return None
    depth = 0
    for at in range(len(previous) - 1, -1, -1):
        depth += (previous[at] == ")") - (previous[at] == "(")
        if depth == 0:
            word = re.search(r"\b(if|for|while) $", previous[:at][-8:])
            return word and at - len(word.group())
    return None


def _closing(masked, start):
    """Return the position of the bracket that closes the one before ``start``."""
    depth = 1
    for at in range(start, len(masked)):
        depth += (masked[at] in "([{") - (masked[at] in ")]}")
        if depth == 0:
            return at
    return len(masked)


def _end_of_statement(masked, start):
    """Return the position of the next semicolon; None if a bracket or comma comes first."""
    depth = 0
    for at in range(start, len(masked)):
        depth += (masked[at] in "([{") - (masked[at] in ")]}")
        if depth < 0 or (depth == 0 and masked[at] == ","):
            return None
        if depth == 0 and masked[at] == ";":
            return at
    return None


def _split(masked, start, end):
    """Return the parts of the head of a loop."""
    parts, depth, first = [], 0, start
    for at in range(start, end):
        depth += (masked[at] in "([{") - (masked[at] in ")]}")
        if depth == 0 and masked[at] == ";":
            parts.append((first, at))
            first = at + 1
    return [*parts, (first, end)]
