"""The warm server: a process of the user's that has imported the compiler, and forks itself for each command that asks.

A command spends most of its time on imports. ``client.py`` hands its words, environment and open files to a server, if
there is one that is what the command itself would become (``address.py``); the server looks whether anything that it has
loaded is another now (``freshness.py``), forks (``serve.py``), and the fork takes the command's place (``impersonate_client.py``).
Whatever is in doubt, the command does its work itself.
"""
