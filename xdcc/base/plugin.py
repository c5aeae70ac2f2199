"""The check that the installed XGBoost has the multi-label plugin.

Estimators that grow trees for all labels at once need XGBoost built from ``third_party/xgboost``
of this project. That build reports the version of its plugin in ``xgboost.build_info()``; stock
XGBoost does not. Nothing here runs on import, so ``import xdcc`` works with either.
"""

from importlib.metadata import packages_distributions

from xdcc.base.libraries import xgb

_BUILD_INFO_KEY = "XDCC_MULTILABEL"
_OLDEST_PLUGIN = "0.3.0"


class PluginMissingError(ImportError):
    """The installed XGBoost was built without the multi-label plugin, or with an old one."""


def plugin_version() -> str | None:
    """Return the version of the multi-label plugin in the installed XGBoost.

    Returns
    -------
    str or None
        The version, or None for an XGBoost without the plugin.

    Examples
    --------
    >>> plugin_version() is not None
    True
    """
    version = xgb.build_info().get(_BUILD_INFO_KEY)
    return None if version is None else str(version)


def require_plugin(user: str) -> None:
    """Raise an error with an instruction if the plugin is missing or too old.

    Parameters
    ----------
    user : str
        Function or class that needs the plugin; the message begins with it.

    Raises
    ------
    PluginMissingError
        If the installed XGBoost has no multi-label plugin, or one that is too old.

    Examples
    --------
    >>> require_plugin("MultiLabelXGBClassifier")  # raises no error: the plugin is there
    """
    version = plugin_version()
    if version is None or _parts(version) < _parts(_OLDEST_PLUGIN):
        lack = (
            "no multi-label plugin"
            if version is None
            else f"the multi-label plugin {version}, older than {_OLDEST_PLUGIN}"
        )
        raise PluginMissingError(
            f"{user} needs the XGBoost of this project, but the installed xgboost "
            f"{xgb.__version__} has {lack}. In a clone of the project run: {_remedy()}"
        )


def _remedy() -> str:
    """Return a command; it removes packages such as xgboost-cpu, which install the same files."""
    others = sorted({*packages_distributions().get("xgboost", [])} - {"xgboost"})
    removal = f"pip uninstall --yes {' '.join(others)} && " if others else ""
    return f"{removal}pip install --force-reinstall --no-deps ./third_party/xgboost"


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
