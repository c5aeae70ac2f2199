"""Manifests in the form of format 2: what `fit` has learned about X and Y as single attributes."""

OF_FORMS = {
    "InputForm": {
        "n_features": "n_features_in_",
        "names": "feature_names_in_",
        "categories": "categories_",
        "is_sparse": "sparse_X_",
    },
    "LabelForm": {"names": "label_names_", "classes": "classes_", "is_named": "_labels_are_named"},
    "TargetForm": {
        "names": "target_names_",
        "is_named": "_targets_are_named",
        "is_single": "_has_one_target",
    },
    "ClassForm": {"classes": "classes_"},
}
"""Attributes of estimators by those of a form."""

DECIDERS = (
    "MultiLabelClassifier",
    "TunedDecisionClassifierCV",
    "ThresholdClassifier",
    "DistilledClassifier",
    "OrderFreeChainClassifier",
)


def to_format_2(manifest):
    """Change a manifest, as JSON, to what earlier versions have written."""
    manifest["format_version"] = 2
    objects = manifest["objects"]
    for entry in objects:
        attributes = entry["attributes"]
        for name in ("_input_form", "_output_form"):
            if name not in attributes:
                continue
            form = objects[attributes.pop(name)["object"]]
            for part, earlier in OF_FORMS[form["class"]].items():
                value = form["attributes"][part]
                of_members = earlier in ("categories_", "sparse_X_") and entry["class"] in DECIDERS
                if value is not None and not of_members:
                    attributes[earlier] = value
        for names, number in (("label_names_", "n_labels_"), ("target_names_", "n_targets_")):
            if names in attributes:
                attributes[number] = attributes[names]["values"]["shape"][0]
