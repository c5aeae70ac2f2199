"""Imports the classes whose objects the file of a compiled model can hold, which registers them.

Estimators are not among them, except where an estimator's own kernel predicts: so a compiled model
is loaded without scikit-learn.
"""

import xdcc.automatic.compiled_joint_labelset
import xdcc.decision.constrained_rule
import xdcc.decision.rules
import xdcc.serving.compiled_parts  # noqa: F401
