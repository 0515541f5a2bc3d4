"""The compile server: a process of this user that has imported the compiler and forks itself for each command.

A command spends most of its time on imports. ``run_on_server.py`` passes its arguments, environment and open files to a
server with the same environment fingerprint (``environment_fingerprint.py``), if there is one. The server checks that
nothing that it has loaded has changed (``staleness.py``) and forks (``server_loop.py``); the fork impersonates the command
(``impersonate_client.py``). In any doubt the command runs in its own process.
"""
