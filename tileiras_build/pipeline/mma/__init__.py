"""Matrix instructions, a folder for each family. ``family.py`` has the interface; nothing outside the folders knows their names."""
