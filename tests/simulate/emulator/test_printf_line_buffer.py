"""Output of other threads does not split the lines of a thread."""

from tileiras_build.simulate.emulator.printf_line_buffer import PrintfOutput


def test_complete_lines_are_written(capsys):
    prints = PrintfOutput()
    prints.add(0, "[0, ")
    prints.add(7, "[7]\n[8, ")
    assert capsys.readouterr().out == "[7]\n"
    prints.add(0, "1]\n\nend")
    assert capsys.readouterr().out == "[0, 1]\n\n"
    prints.finish()
    prints.finish()
    assert capsys.readouterr().out == "[8, end"
