"""The process of a task: executes the task and writes its record.

The process ends with `DONE` when the record is written; a failure of the method is recorded, too.
It ends with `CANNOT_WRITE`, after a message, if the record cannot be written.
"""

import sys
from multiprocessing.connection import Connection
from pathlib import Path

from experiments.engine import registry
from experiments.engine.records import RecordStore, StorageError
from experiments.engine.task import Task, execute

# Processes are forked from a server that imports this module, so they need not import the methods.
registry.methods()
registry.datasets()

DONE = 0
CANNOT_WRITE = 74
"""Exit status: the input/output error of sysexits.h."""


def work(task: Task, folder: Path, keep_predictions: bool, messages: Connection) -> None:
    """Execute a task and write its record to a folder, an error of writing to the messages."""
    record, arrays = execute(task)
    try:
        RecordStore(folder).write(task.name, record, arrays if keep_predictions else None)
    except StorageError as error:
        messages.send(str(error))
        sys.exit(CANNOT_WRITE)
