"""What a fork server imports, here when its build has ended: ``BUILD`` is that process."""

import os
import time

from tileiras_build.workers.executor.fork_server_preload import preloading

while os.getppid() == int(os.environ["BUILD"]):
    time.sleep(0.01)
with preloading():
    print("imported", flush=True)
