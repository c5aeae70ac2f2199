"""The steps of a scikit-learn pipeline before an estimator of ours, stored by skops.

A model file holds what skops made of them as one member. skops makes objects of types on its own
list and of those that the caller trusts; they are not checked any further.
"""

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from xdcc.boosting.booster_file import ModelFileError
from xdcc.serving.archive import Archive

_PARAMS = ("verbose", "transform_input")
"""Parameters that are stored of a pipeline beside its steps."""

_HARMLESS = ("numpy.dtype",)
"""Types in imputers and encoders that skops does not trust by default."""


def other_steps(pipeline: Pipeline) -> bytes:
    """Store a pipeline without its last step; an ImportError says how if skops is missing."""
    io = _skops("save_model stores")
    params = {name: getattr(pipeline, name) for name in _PARAMS}
    content: bytes = io.dumps({"steps": pipeline.steps[:-1], **params})
    return content


def with_other_steps(
    content: bytes, last: tuple[str, Any], trusted: Sequence[str], max_bytes: int | None
) -> Pipeline:
    """Return the stored pipeline with `last`, a name and an estimator, as its last step.

    Raises a ModelFileError that lists types which neither skops nor the caller trusts.
    """
    io = _skops("load_model reads")
    Archive(content, max_bytes)  # compares sizes
    unknown = sorted(set(io.get_untrusted_types(data=content)) - {*trusted, *_HARMLESS})
    if unknown:
        raise ModelFileError(
            f"The pipeline has types that are not trusted: {', '.join(unknown)}. If you trust the "
            f"file, load it with trusted={[*trusted, *unknown]}."
        )
    described = io.loads(content, trusted=[*trusted, *_HARMLESS])
    if not isinstance(described, dict) or set(described) != {"steps", *_PARAMS}:
        raise ValueError(f"the steps of the pipeline are not described by {', '.join(_PARAMS)}")
    return Pipeline([*described.pop("steps"), last], **described)


def _skops(task: str) -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            f"{task} the steps of a pipeline before an estimator of xdcc with skops: pip install "
            "skops. Or save the last step, pipeline[-1], alone and store the others yourself."
        ) from error
    return skops.io
