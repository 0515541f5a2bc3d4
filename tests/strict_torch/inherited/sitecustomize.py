"""Python runs this file at its start, for the folder is in PYTHONPATH: PyTorch is put on the strict driver once it is imported."""

from tests.strict_torch.process import begin_later

begin_later()
