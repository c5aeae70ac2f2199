"""What a task's own process does: execute the task and write its record.

The process ends with `DONE` when the record is written (a failure of the method is recorded, too)
and with `CANNOT_WRITE` when it could not be; the message goes through the pipe. It ends by itself
when the process that started it is gone, so that a killed run leaves nothing behind.
"""

import os
import signal
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path

from experiments.engine import registry
from experiments.engine.records import RecordStore, StorageError
from experiments.engine.task import Task, execute

# The server that workers are forked from imports this module: they need not import methods again.
registry.methods()
registry.datasets()

DONE = 0
CANNOT_WRITE = 74
"""Exit status: the input/output error of sysexits.h."""


def work(task: Task, folder: Path, keep_predictions: bool, messages: Connection) -> None:
    """Execute a task and write its record to a folder, an error of writing to the messages.

    This is the body of a process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the run ends its workers itself
    threading.Thread(target=_end_with_parent, daemon=True).start()
    record, arrays = execute(task)
    try:
        RecordStore(folder).write(task, record, arrays if keep_predictions else None)
    except StorageError as error:
        messages.send(str(error))
        sys.exit(CANNOT_WRITE)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
