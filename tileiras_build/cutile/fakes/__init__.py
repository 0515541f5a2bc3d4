"""Fakes of a GPU's software on a machine without one: the driver, and the devices, streams and graphs of frameworks."""
