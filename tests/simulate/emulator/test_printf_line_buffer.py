"""Lines of a thread stay together, whoever prints in between."""

from tileiras_build.simulate.emulator.printf_line_buffer import PrintfOutput


def test_lines_stay_together_and_come_as_they_are_complete(capsys):
    prints = PrintfOutput()
    prints.add(0, "[0, ")
    prints.add(7, "[7]\n[8, ")
    assert capsys.readouterr().out == "[7]\n"
    prints.add(0, "1]\n\nend")
    assert capsys.readouterr().out == "[0, 1]\n\n"
    prints.finish()
    prints.finish()
    assert capsys.readouterr().out == "[8, end"
