"""Add a loss, a constraint and a removal strategy to a copy, as in docs/adding-a-variant.md.

``python tests/variants/adding.py FOLDER`` compiles the copy and compares the additions with
their references (``make variant-test``). A unit test checks what needs no compiler.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PARTS = ("core", "src", "CMakeLists.txt")

# Additions: file, the line to insert before, the text. The files are those of the page.
ADDED = {
    "a loss": [
        (
            "src/aggro/reference/rules.py",
            '        case "least_squares":',
            '        case "huber_hinge":\n            return Slack(0.0, C, 1 / (2 * C))\n',
        ),
        (
            "src/aggro/settings.py",
            '    "perceptron": lambda s:',
            '    "huber_hinge": lambda s: {"cap": s.C, "ridge": _ridge(s.C)},\n',
        ),
        ("src/aggro/settings.py", 'CLASSIFIER_LOSSES = ("hinge"', None),
        (
            "src/aggro/variants.py",
            "    *_three(('PAR'".replace("'", '"'),
            '    Variant("PA-H", PA, {"loss": "huber_hinge"}, "own", "tau"),\n',
        ),
    ],
    "a constraint": [
        (
            "core/constraints/task.hpp",
            "    support ",
            "    mean,  ///< the true class above the mean of the others\n",
        ),
        (
            "core/constraints/constraints.hpp",
            "inline constexpr std::pair<const char*, Task> task_names[]",
            """/// Several outputs: the true class above the mean of the wrong ones.
struct MeanConstraint : TopConstraint {
    static double share(const Group& g) { return 1.0 / static_cast<double>(g.count - 1); }

    static Violation violation(const Group& g, const Rule& rule, const Target& target,
                               const double* s, std::size_t& rival) {
        Violation seen = TopConstraint::violation(g, rule, target, s, rival);
        const auto y = static_cast<std::size_t>(target.label);
        seen.loss = rule.margin - s[y] * (1 + share(g));
        seen.size = rule.margin;
        for (std::size_t v = 0; v < g.count; ++v) {
            seen.loss += share(g) * s[v];
            seen.size += std::abs(s[v]);
        }
        return seen;
    }
    static double steps(const Group& g, const Rule& rule, std::size_t y, std::size_t, double loss,
                        double q, const double*, double* tau, Ranking&) {
        write_all(g, y, step_size(loss, q * (1 + share(g)), rule), tau);
        return tau[y];
    }
    static double agreement(const Group& g, const Target& y, const Target& z, std::size_t,
                            std::size_t) {
        const double other = share(g);
        return y.label == z.label ? 1 + other : -other * (1 + other);
    }
    static void write(const Group& g, const Target& y, std::size_t, double t, double* tau) {
        write_all(g, static_cast<std::size_t>(y.label), t, tau);
    }

  private:
    static void write_all(const Group& g, std::size_t y, double t, double* tau) {
        std::fill_n(tau, g.count, -t * share(g));
        tau[y] = t;
    }
};

""",
        ),
        (
            "core/constraints/constraints.hpp",
            "        case Task::top:",
            "        case Task::mean: return use(MeanConstraint{});\n",
        ),
        ("core/constraints/constraints.hpp", '{{"margin", Task::margin}', None),
        (
            "src/aggro/reference/task.py",
            "            direction = true - best_wrong\n",
            "            others = (1 - true) / (scores.shape[1] - 1)\n"
            '            best_wrong = others if self.kind == "mean" else best_wrong\n',
        ),
        ("src/aggro/reference/task.py", 'CLASSES = ("support"', None),
        ("src/aggro/settings.py", '        Choice(("support", "top"', None),
    ],
    "a removal strategy": [
        (
            "core/kernel/strategies.hpp",
            "inline constexpr std::pair<const char*, Forget> strategy_names[]",
            """/// Drops the support vector of the smallest weight.
struct ForgetSmallest : ForgetOldest {
    static void cost(const Memory&, const Newcomers&, const Expansion& e,
                     std::vector<double>& costs) {
        square_weights(e, costs);
    }
};

""",
        ),
        (
            "core/kernel/strategies.hpp",
            "    oldest       ///<",
            "    smallest,    ///< drop the one of the smallest weight\n",
        ),
        (
            "core/kernel/strategies.hpp",
            "        case Forget::simple:",
            "        case Forget::smallest: return use(ForgetSmallest{});\n",
        ),
        (
            "core/kernel/strategies.hpp",
            '    {"oldest", Forget::oldest}',
            '    {"smallest", Forget::smallest},\n',
        ),
        (
            "src/aggro/reference/kernel.py",
            "    plans = []\n",
            '    if maintenance == "smallest":\n'
            "        r = int(np.argmin(np.sum(beta[: len(beta) - fresh] ** 2, axis=1)))\n"
            "        return r, np.delete(beta, r, axis=0)\n",
        ),
        ("src/aggro/kernel_learner.py", 'STRATEGIES = ("simple"', None),
    ],
}
# Names that are inserted into an existing line.
NAMED = {
    'CLASSIFIER_LOSSES = ("hinge"': ('"hinge"', '"huber_hinge", "hinge"'),
    'CLASSES = ("support"': ('"support"', '"mean", "support"'),
    '        Choice(("support", "top"': ('"support"', '"mean", "support"'),
    'STRATEGIES = ("simple"': ('"simple"', '"smallest", "simple"'),
    '{{"margin", Task::margin}': (
        '{{"margin", Task::margin}',
        '{{"margin", Task::margin}, {"mean", Task::mean}',
    ),
}
CHECK = """
import numpy as np
from aggro import KernelPassiveAggressiveClassifier, PassiveAggressiveClassifier
from aggro.reference import ReferenceKernelLearner, ReferenceLearner

rng = np.random.default_rng(0)
X, y = rng.standard_normal((80, 5)), rng.integers(0, 4, 80)
plain = {"shuffle": False, "max_iter": 1, "tol": None, "C": 0.4}
for axes in {axes}:
    keywords = {k: v for k, v in axes.items() if k != "budget_strategy"}
    if "budget_strategy" in axes:
        model = KernelPassiveAggressiveClassifier(gamma=0.5, budget=12, **axes, **plain).fit(X, y)
        reference = ReferenceKernelLearner(
            "multiclass", 5, 4, gamma=0.5, C=0.4, budget=12, maintenance=axes["budget_strategy"]
        )
    else:
        once = {"intercept_scaling": 1.0, "average": False, **keywords}
        model = PassiveAggressiveClassifier(**once, **plain).fit(X, y)
        reference = ReferenceLearner("multiclass", 5, 4, C=0.4, **keywords)
    reference.learn_stream(X, y)
    scores = reference.scores(X)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-7, atol=1e-9)
    assert 0 < model.n_mistakes_ == reference.n_mistakes, axes
    print("agrees with the reference:", axes)
"""
PYTHON_ONLY = [{"loss": "huber_hinge"}, {"loss": "huber_hinge", "multiclass": "top"}]
COMPILED = [
    {"multiclass": "mean"},
    {"multiclass": "mean", "loss": "squared_hinge", "batch_size": 3},
    {"budget_strategy": "smallest"},
]


def changed(text, place, added):
    """Return the text with an addition before the only line that contains a place."""
    assert text.count(place) == 1, f"{place!r} occurs {text.count(place)} times"
    if added is not None:
        return text.replace(place, added + place)
    old, new = NAMED[place]
    start = text.index(place)
    return text[:start] + text[start:].replace(old, new, 1)


def add_all(folder):
    """Copy the sources to a folder and apply all additions."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    for part in PARTS:
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy(source, target)
    for changes in ADDED.values():
        for name, place, added in changes:
            path = folder / name
            path.write_text(changed(path.read_text(), place, added))


# An installed package that points to the sources would be found before the copy.
THE_COPY = """
import sys
sys.meta_path[:] = [each for each in sys.meta_path if "Redirecting" not in type(each).__name__]
"""


def check(folder, axes):
    """Hold learners of the copy against the reference, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    program = THE_COPY + CHECK.replace("{axes}", repr(axes))
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, cwd=folder)


def compile_copy(folder):
    """Compile the copy for this machine's best level, and copy it into its package."""
    build = folder / "build"
    make = ["cmake", "-S", folder, "-B", build, f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run([*make, "-DCMAKE_BUILD_TYPE=Release", "-DAGGRO_LEVELS=machine"], check=True)
    subprocess.run(["cmake", "--build", build, "-j", str(os.cpu_count() or 1)], check=True)
    for module in build.glob("*.so"):
        shutil.copy(module, folder / "src" / "aggro")


if __name__ == "__main__":
    scratch = Path(sys.argv[1]).resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    add_all(scratch)
    compile_copy(scratch)
    check(scratch, PYTHON_ONLY + COMPILED)
