"""The catalogue: the estimator and keywords of each published name."""

import pytest

import aggro
from aggro.variants import ROWS, find

PA, KERNEL = "PassiveAggressiveClassifier", "KernelPassiveAggressiveClassifier"
SLACKS = ("hard", "hinge", "squared_hinge")


def three(names, estimator=PA, **params):
    return {
        name: (estimator, {"loss": loss, **params})
        for name, loss in zip(names.split(), SLACKS, strict=True)
    }


MEANT = {
    "Perceptron": ("Perceptron", {}),
    **three("PA PA-I PA-II", multiclass="top"),
    "PALS": (PA, {"loss": "least_squares", "multiclass": "ovr"}),
    "PAR": ("PassiveAggressiveRegressor", {"loss": "hard"}),
    "PAR-I": ("PassiveAggressiveRegressor", {"loss": "epsilon_insensitive"}),
    "PAR-II": ("PassiveAggressiveRegressor", {"loss": "squared_epsilon_insensitive"}),
    **three("MPA MPA-I MPA-II", multiclass="top"),
    **three("SPA SPA-I SPA-II", multiclass="support"),
    **three("PAm PAm-1 PAm-2", class_mean=0.1),
    **three("PAmW PAmW-1 PAmW-2", class_mean=0.1, queue=5),
    **three("PAM PAM-I PAM-II", metric="full", multiclass="ovr"),
    **three("PAM-diag PAM-I-diag PAM-II-diag", metric="diagonal", multiclass="ovr"),
    **three("BPA BPAI BPAII", batch_size=8),
    "BPALS": (PA, {"loss": "least_squares", "multiclass": "ovr", "batch_size": 8}),
    **three("KPA KPA-I KPA-II", KERNEL),
    **three("KBPA KBPAI KBPAII", KERNEL, batch_size=8),
    "KBPALS": (KERNEL, {"loss": "least_squares", "multiclass": "ovr", "batch_size": 8}),
    "BPA-S": (KERNEL, {"budget": 100, "budget_strategy": "simple"}),
    "BPA-NN": (KERNEL, {"budget": 100, "budget_strategy": "nearest"}),
    "BPA-P": (KERNEL, {"budget": 100, "budget_strategy": "projection"}),
    "AROW": ("AROWClassifier", {}),
    "AROWR": ("AROWRegressor", {}),
    "CW": ("ConfidenceWeightedClassifier", {"loss": "cw"}),
    "CW-stdev": ("ConfidenceWeightedClassifier", {"loss": "cw_stdev"}),
    "SCW-I": ("SoftConfidenceWeightedClassifier", {"loss": "scw1"}),
    "SCW-II": ("SoftConfidenceWeightedClassifier", {"loss": "scw2"}),
}


def test_published_name_has_the_parameters_of_its_paper():
    own = {row.name: {k: v for k, v in row.params.items() if k != "average"} for row in ROWS}
    assert {row.name: (row.estimator, own[row.name]) for row in ROWS} == MEANT
    assert not any(row.params.get("average") for row in ROWS)  # the last weights predict
    assert len(ROWS) == len(MEANT)  # names are unique


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_variant_makes_its_estimator(row):
    model = aggro.from_name(row.name)
    assert type(model).__name__ == row.estimator
    given = model.get_params()
    assert {name: given[name] for name in row.params} == row.params
    plain = type(model)().get_params()
    assert {k: v for k, v in given.items() if k not in row.params} == {
        k: v for k, v in plain.items() if k not in row.params
    }
    assert row.paper and row.rule


def test_keywords_override_the_variant():
    assert aggro.from_name("PAmW-1", queue=7, C=0.3).get_params()["queue"] == 7
    assert find("PAmW-1").params["queue"] == 5  # the row is unchanged


def test_catalogue_is_a_copy():
    rows = aggro.catalogue()
    rows.clear()
    assert aggro.catalogue() == list(ROWS)


@pytest.mark.parametrize(
    ("said", "meant"),
    [("pa-i", "PA-I"), ("PA_I", "PA-I"), ("pa i", "PA-I"), ("spaii", "SPA-II"), ("PAm", "PAm"),
     ("PAM", "PAM"), ("PAm1", "PAm-1"), ("PAM-i", "PAM-I"), ("cw-STDEV", "CW-stdev"),
     ("bpa-s", "BPA-S"), ("pamw", "PAmW"), ("pam-I-diag", "PAM-I-diag")],
)  # fmt: skip
def test_names_ignore_case_and_hyphens(said, meant):
    assert find(said).name == meant


@pytest.mark.parametrize("said", ["pam", "Pam", "PAMw", "PAm-I", "PAM-1", "PAm-diag"])
def test_PAm_and_PAM_are_distinguished(said):
    with pytest.raises(ValueError, match=r"ambiguous.*case of one letter.*PAM.*PAm"):
        find(said)


def test_unknown_name_suggests_a_near_one():
    with pytest.raises(ValueError, match=r"no variant 'PA-IV'.*Did you mean 'PA-I.*catalogue"):
        find("PA-IV")
    with pytest.raises(ValueError, match=r"no variant 'arow2'.*Did you mean 'AROW"):
        find("arow2")
    with pytest.raises(ValueError, match=r"no variant 'zzz'\. aggro"):
        find("zzz")
