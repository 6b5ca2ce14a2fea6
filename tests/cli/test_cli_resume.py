"""A resumed run equals an uninterrupted one, and its options cannot contradict the model."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import messages, run, states, write_csv, write_numbers, write_svmlight, write_vw

import aggro
from aggro.cli.model import load_model
from aggro.io import load_svmlight

pytestmark = pytest.mark.usefixtures("inside")


# -- an interrupt, and the command that does the rest -------------------------------------------


class InterruptAfter:
    """Simulate Ctrl-C after n batches: ``requested`` is read after each of them."""

    batches = 0

    def __enter__(self):
        self.left = self.batches
        return self

    def __exit__(self, *_):
        pass

    @property
    def requested(self):
        return self.left <= 0


@pytest.fixture
def interrupted(monkeypatch):
    """Run a line that is interrupted after some batches; return the command that it advises."""

    def act(line, batches, capsys):
        from aggro.cli import train

        class Now(InterruptAfter):
            pass

        Now.batches = batches
        real = train.Progress.learn

        def learn(self, *batch):
            lines = real(self, *batch)
            Now.made.left -= 1
            return lines

        def enter(self):
            Now.made = self
            return InterruptAfter.__enter__(self)

        Now.__enter__ = enter
        with monkeypatch.context() as patch:
            patch.setattr(train, "Interrupt", Now)
            patch.setattr(train.Progress, "learn", learn)
            run(line, 130)
        err = capsys.readouterr().err
        assert "Interrupted; the model is saved. Continue with:\n" in err
        return err.split("Continue with:\n")[1].strip().removeprefix("aggro ")

    return act


def write_parts(folder, parts=3):
    """A folder of files, each of which is a batch of its own."""
    folder.mkdir()
    lines = write_svmlight(folder.parent / "all.svm", n=90 * parts).read_text().splitlines(True)
    for part in range(parts):
        (folder / f"{part}.svm").write_text("".join(lines[90 * part : 90 * part + 90]))


@pytest.mark.parametrize("batches", [1, 3, 4, 6, 8])
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--average",
        "--average reservoir --random-state 7",
        "--algorithm PAm-1",
        "--C auto --keep-candidates",
        "--scale online --float32",
    ],
)
def test_the_printed_command_completes_the_interrupted_run(
    inside, interrupted, options, batches, capsys
):
    write_parts(inside / "parts")
    run(f"train parts -o whole.aggro --passes 3 --quiet {options}")
    go_on = interrupted(f"train parts -o part.aggro --passes 3 {options}", batches, capsys)
    done, rest = divmod(batches - 1, 3)
    assert f"--skip {90 * (rest + 1)} --passes {3 - done}" in go_on
    run(go_on)
    assert states("part.aggro") == states("whole.aggro")


def test_the_printed_command_repeats_the_options(inside, interrupted, capsys):
    write_parts(inside / "parts")
    with Path("parts/0.svm").open("a") as stream:
        stream.write("oops\n")
    options = "--skip-bad --cache c.aggrocache --json r.json --plot 'my curve.png' --test all.svm"
    go_on = interrupted(f"train parts -o part.aggro --passes 2 {options}", 2, capsys)
    for option in ("--skip-bad", "--cache c.aggrocache", "--json r.json", "--plot 'my curve.png'"):
        assert option in go_on
    assert "--test all.svm" in go_on and "--keep-candidates" not in go_on
    run(go_on)
    report = json.loads(Path("r.json").read_text())
    assert report["bad_lines"] == 1 and report["test"]["examples"] == 270
    run("train parts -o whole.aggro --passes 2 --skip-bad --quiet")
    assert states("part.aggro") == states("whole.aggro")


def test_new_rows_change_frozen_class_means(inside):
    """Later passes freeze the class means; a finished model, like the estimator's, goes on."""
    write_parts(inside / "parts")
    run("train parts/0.svm -o m.aggro --algorithm PAm-1 --passes 2 --quiet")
    run("train parts/1.svm --resume m.aggro -o m.aggro --quiet")
    X, y = load_svmlight("parts/0.svm")
    model = aggro.from_name("PAm-1", shuffle=False, max_iter=2, tol=None).fit(X, y)
    X, y = load_svmlight("parts/1.svm", n_features=X.shape[1])
    model.partial_fit(X, y)
    np.testing.assert_array_equal(aggro.load("m.aggro").coef_, model.coef_)


def test_new_rows_change_class_means_after_an_interrupt_in_a_later_pass(
    inside, interrupted, capsys
):
    write_parts(inside / "parts")
    line = "train parts/0.svm -o m.aggro --algorithm PAm-1 --passes 3"
    interrupted(line, 2, capsys)
    run("train parts/1.svm --resume m.aggro -o new.aggro --quiet")
    run("train parts/0.svm -o two.aggro --algorithm PAm-1 --passes 2 --quiet")
    run("train parts/1.svm --resume two.aggro -o two.aggro --quiet")
    assert states("new.aggro") == states("two.aggro")


# -- skipping -----------------------------------------------------------------------------------


def write_weighted(path, count, start=0):
    rng = np.random.default_rng(0)
    weights = rng.random(200).round(3) + 0.1
    rows = [f"{kind},{size},{w}" for (kind, _, size), w in zip(messages(200), weights, strict=True)]
    path.write_text("\n".join(["kind,size,w", *rows[start:count]]) + "\n")


@pytest.mark.parametrize("skip", [0, 1, 77, 199])
def test_weights_of_skipped_rows_are_skipped(inside, skip):
    write_weighted(inside / "all.csv", 200)
    write_weighted(inside / "rest.csv", 200, start=skip)
    options = "--label kind --weight w --C 0.1 --quiet"
    run(f"train all.csv -o a.aggro --skip {skip} {options}")
    run(f"train rest.csv -o b.aggro {options}")
    assert states("a.aggro") == states("b.aggro")
    run(f"train all.csv -o c.aggro --skip {skip} --label kind --columns size --C 0.1 --quiet")
    assert states("c.aggro") != states("a.aggro")


def test_skipping_all_rows_is_an_error(inside, capsys):
    write_svmlight(inside / "data.svm", n=50)
    run("train data.svm -o m --skip 50", 1)
    assert "no examples to learn from after the first 50" in capsys.readouterr().err
    run("train data.svm -o m --skip 50 --passes 2 --quiet")  # the second pass has all of them
    assert load_model("m")[0].learner.examples == 50


def test_only_the_first_pass_skips(inside):
    write_svmlight(inside / "data.svm", n=50)
    run("train data.svm -o m --skip 20 --passes 3 --quiet")
    assert load_model("m")[0].learner.examples == 30 + 50 + 50


# -- what contradicts the model -----------------------------------------------------------------


MADE = (
    "train mail.csv --label kind --text body --hash-bits 10 --random-state 3 --algorithm PA-I "
    "--C 0.5"
)
SAME = [
    "",
    "--label kind",
    "--text body",
    "--hash-bits 10",
    "--random-state 3",
    "--algorithm PA-I",
    "--algorithm pa-i",
    "--task classification",
    "--columns size",
    "--C 0.5",
    "--loss hinge --multiclass top",
    "--C 0.25",
    "--missing-zero",
    "--weight size",
    "--format csv",
]
OTHER = {
    "--label body": "with --label kind, which cannot change to body",
    "--text size": "with --text body, which cannot change to size",
    "--text body --text size": "which cannot change to body,size",
    "--hash-bits 18": "with --hash-bits 10, which cannot change to 18",
    "--hash-bits 11": "with --hash-bits 10, which cannot change to 11",
    "--random-state 0": "with --random-state 3, which cannot change to 0",
    "--float32": "without --float32",
    "--algorithm SPA-I": "with --algorithm PA-I, which cannot change to SPA-I",
    "--algorithm PAR-I": "with --algorithm PA-I, which cannot change to PAR-I",
    "--task regression": "with --task classification, which cannot change to regression",
    "--columns body,size": "with --columns size, which cannot change to body,size",
    "--no-header": "without --no-header",
    "--loss squared_hinge": "--loss is part of the model",
    "--average": "--average is part of the model",
    "--no-intercept": "--no-intercept is part of the model",
}


@pytest.fixture
def mail(inside):
    write_csv(inside / "mail.csv", n=60)
    run(f"{MADE} -o m.aggro --quiet")


@pytest.mark.parametrize("options", SAME)
def test_options_of_the_model_may_be_repeated(mail, options):
    run(f"train mail.csv --resume m.aggro -o again.aggro --quiet {options}")


@pytest.mark.parametrize("options", OTHER)
def test_options_that_contradict_the_model_are_errors(mail, options, capsys):
    before = Path("m.aggro").read_bytes()
    run(f"train mail.csv --resume m.aggro -o m.aggro {options}", 1)
    err = capsys.readouterr().err
    assert OTHER[options] in err and err.count("\n") == 1
    assert "part of the model" in err or f"leave {options.split()[0]} out" in err
    assert Path("m.aggro").read_bytes() == before


def test_single_precision_and_numbers_contradict_too(inside, capsys):
    write_numbers(inside / "n.svm")
    run("train n.svm -o m.aggro --float32 --quiet")
    run("train n.svm --resume m.aggro -o m.aggro --float32 --task regression --quiet")
    run("train n.svm --resume m.aggro -o m.aggro --task classification", 1)
    assert "with --task regression" in capsys.readouterr().err
    assert aggro.load("m.aggro").coef_.dtype == np.float32


def test_weights_given_on_resuming_count(mail):
    for options in ("", "--weight size"):
        run(f"train mail.csv --resume m.aggro -o w{len(options)}.aggro --quiet {options}")
    assert states("w0.aggro") != states("w13.aggro")


def test_a_model_saved_in_python_is_read_with_the_given_options(inside):
    """Its file says nothing about columns, so the command line may."""
    write_vw(inside / "t.vw", n=60)
    rows = [line.split("size:")[1] for line in Path("t.vw").read_text().splitlines()]
    kinds = [line.split()[0] for line in Path("t.vw").read_text().splitlines()]
    lines = [f"{a},{b}" for a, b in zip(rows, kinds, strict=True)]
    Path("t.csv").write_text("size,kind\n" + "\n".join(lines) + "\n")
    X, y = np.array(rows, float)[:, None], np.array(kinds, float)
    model = aggro.PassiveAggressiveClassifier().partial_fit(X, y)
    aggro.save(model, "python.aggro")
    run("train t.csv --label kind --resume python.aggro -o more.aggro --quiet")
    np.testing.assert_array_equal(aggro.load("more.aggro").coef_, model.partial_fit(X, y).coef_)


def test_a_model_saved_in_python_is_identified_by_its_parameters(inside, capsys):
    write_svmlight(inside / "data.svm", n=60)
    X, y = load_svmlight("data.svm")
    model = aggro.from_name("PA-II", C=0.5).partial_fit(X, y)
    aggro.save(model, "m.aggro")
    run("train data.svm --resume m.aggro -o again.aggro --algorithm PA-II --C 0.5 --quiet")
    for other in ("PA-I", "SPA-II", "AROW"):
        run(f"train data.svm --resume m.aggro -o again.aggro --algorithm {other}", 1)
        assert f"which cannot change to {other}" in capsys.readouterr().err


def test_a_third_class_that_the_settings_do_not_allow_is_rejected(capsys):
    """Two classes share one constraint, three have several: as a new model would say."""
    write_svmlight(Path("two.svm"), 60, classes=2)
    write_svmlight(Path("three.svm"), 60, classes=3)
    X, y = load_svmlight("two.svm")
    aggro.save(aggro.PassiveAggressiveClassifier(loss="least_squares").partial_fit(X, y), "m")
    known = Path("m").read_bytes()
    run("train three.svm --resume m -o m", code=1)
    assert "use --multiclass ovr" in capsys.readouterr().err
    assert Path("m").read_bytes() == known


def test_parameters_are_validated_when_resuming(capsys):
    write_svmlight(Path("two.svm"), 60, classes=2)
    run("train two.svm -o m")
    run("train two.svm --resume m -o m --C 0", code=1)
    assert "--C 0" in capsys.readouterr().err


# -- margins for probabilities --------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, "auto"])
@pytest.mark.parametrize("first, later", [(3, 3), (2, 3), (1, 2)])
def test_resuming_continues_to_record_margins(tmp_path, first, later, C):
    """The command does what partial_fit does, also where new classes come."""
    begun = load_svmlight(write_svmlight(tmp_path / "a.svm", classes=first))
    more = write_svmlight(tmp_path / "b.svm", n=300, seed=1, classes=later)
    model = aggro.PassiveAggressiveClassifier(probability=True, C=C, random_state=0)
    aggro.save(model.partial_fit(*begun[:2]), "begun.aggro")
    run(f"train {more} --resume begun.aggro --keep-candidates --quiet -o more.aggro")
    after, (X, y, *_) = aggro.load("more.aggro"), load_svmlight(more, begun[0].shape[1])
    model.partial_fit(X, y)
    assert after.predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert after._fitted.record.calibrator.seen == 900


def test_margins_of_later_passes_are_not_recorded(tmp_path):
    begun = load_svmlight(write_svmlight(tmp_path / "a.svm"))
    more = write_svmlight(tmp_path / "b.svm", n=300, seed=1)
    model = aggro.PassiveAggressiveClassifier(probability=True)
    aggro.save(model.partial_fit(*begun[:2]), "begun.aggro")
    run(f"train {more} --resume begun.aggro --passes 3 --quiet -o more.aggro")
    assert aggro.load("more.aggro")._fitted.record.calibrator.seen == 900
