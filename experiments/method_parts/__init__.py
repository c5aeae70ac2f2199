"""What the files of several methods share: base learners, readings, scores, chains."""
