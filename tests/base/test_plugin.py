"""Stock XGBoost: what works without the plugin, and errors that say what to install."""

import numpy as np
import pytest
import xgboost

from xdcc.base.plugin import PluginMissingError, plugin_version, require_plugin
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain

X = np.array([[0.0], [1.0], [2.0], [3.0]])
Y = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> None:
    info = {k: v for k, v in xgboost.build_info().items() if k != "XDCC_MULTILABEL"}
    monkeypatch.setattr(xgboost, "build_info", lambda: info)


def test_version_comes_from_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xgboost, "build_info", lambda: {"XDCC_MULTILABEL": "1.2.3"})
    assert plugin_version() == "1.2.3"
    require_plugin("This test")


@pytest.mark.parametrize("version", ["0.1.0", "0.1.10"])
def test_an_old_plugin_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(xgboost, "build_info", lambda: {"XDCC_MULTILABEL": version})
    with pytest.raises(PluginMissingError, match=rf"the multi-label plugin {version}, older than"):
        require_plugin("This test")


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("estimator", [MultiLabelXGBClassifier(), DynamicChainClassifier()])
def test_missing_plugin_is_an_import_error_with_instructions(estimator: object) -> None:
    assert plugin_version() is None
    with pytest.raises(PluginMissingError) as caught:
        estimator.fit(X, Y)
    assert isinstance(caught.value, ImportError)
    message = str(caught.value)
    assert message.startswith(type(estimator).__name__)
    assert message.endswith(": pip install --force-reinstall --no-deps ./third_party/xgboost")
    assert xgboost.__version__ in message


@pytest.mark.usefixtures("stock")
def test_other_packages_of_xgboost_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"xgboost": ["xgboost-cpu", "xgboost"]}
    monkeypatch.setattr("xdcc.base.plugin.packages_distributions", lambda: names)
    with pytest.raises(PluginMissingError, match="run: pip uninstall --yes xgboost-cpu && pip ins"):
        require_plugin("This test")


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("estimator", [BinaryRelevance(n_jobs=1), ClassifierChain(n_jobs=1)])
def test_baselines_need_no_plugin(estimator: object) -> None:
    assert estimator.fit(X, Y).predict(X).shape == Y.shape
