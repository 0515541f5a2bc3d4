"""``Schedule``: how a kernel uses an SM. Passes carry it out; a person may edit it and give it back."""
