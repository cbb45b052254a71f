"""The paper's numbers, against rows as the paper prints them, and that each cell can be made."""

import re
from importlib import import_module

import pytest

from cassle.errors import UserError
from cassle.paper.appendix import DOMAINS
from cassle.paper.cells import table, tables

# A few lines of the paper's source, numbers and layout as they stand there; names of strategies are cut.
EXCERPTS = {
    (2, ("Fine-tuning",)): r"& \CC{ftcolor}48.9 & \CC{ftcolor}1.0 & 33.5  & \CC{ftcolor}54.3 & \CC{ftcolor}0.4 & \CC{ftcolor}39.2 & 52.7 & 0.1 & 35.9 \\",
    (2, ("DER",)): r"&\CC{b}50.7 & \CC{b}0.4 & 33.2 &\CC{b}55.3 & \CC{b}2.5 & \CC{b}39.6 &\CC{b}54.8 & \CC{b} 1.1 & 36.7 \\",
    (2, ("CaSSLe",)): r"& \textbf{58.3} & 0.2 & \textbf{36.4} & \textbf{60.4} & 0.4 & \textbf{42.2} & \textbf{62.2} & \textbf{0.0} & \textbf{43.6} \\",
    (2, ("Offline",)): r"& \CC{o}65.8 & \CC{o}-   & \CC{o}- & \CC{o}70.9   & \CC{o}-  & \CC{o}- & \CC{o}70.5 & \CC{o}-  & \CC{o}-\\",
    (3, ("Lin et al.", "SimCLR")): r"& \CC{f}55.7 & \CC{f}- \\",
    (4, ("VICReg", "CaSSLe")): r"&\textbf{53.6} & \textbf{0.2} & \textbf{41.1} & \textbf{64.8} & \textbf{4.3} & \textbf{45.3} \\",
    (4, ("Supervised", "Offline")): r"& \CC{o}75.6 & \CC{o}- & \CC{o}- & \CC{o}81.9 & \CC{o}- & \CC{o}-  \\",
    (5, ("Class-inc.", "BYOL")): r"& \underline{66.0} & 60.6 & \CC{p}\textbf{66.4} \\",
    (5, ("Data-inc.", "BYOL")): r"& \textbf{74.0} & 66.7 & \CC{p}\underline{73.3} \\",
    (6, ("BYOL",)): r"& \CC{p}52.0 & \CC{p}58.6 & \CC{p}\textbf{62.2} \\",
    (7, ("MoCoV2+", "Offline")): r"& \CC{o}78.2 &\CC{o}53.7 \\",
    (8, ("CaSSLe",)): r"&\CC{d} \textbf{60.3} &\textbf{56.9}& \textbf{56.9} &\textbf{56.3}&\textbf{58.7}&\textbf{56.5}&\\",
    (9, ("1%", "Fine-tuning")): r"& 42.6 & 42.5 & 42.3 & 40.4 &40.9 & 39.7 & \multirow{2}{*}{48.1} \\",
    (10, ("MoCoV2+", "Fine-tuning")): r"& 50.9 & 45.5 & 45.8 & 37.5 & 36.0 & 29.3 & 39.5 & 32.1 & 17.9 & 13.5 & 50.3 & \textbf{44.5} & 43.2 & 36.7 \\",
    (10, ("Supervised", "Offline")): r"&74.7  & 73.2 & 68.5 & 67.8 & 62.0 & 59.3 & 65.7 & 63.7 & 33.7 & 34.5 & 72.3 & 69.3 & 66.4 & 65.0 \\",
    (11, ("SupCon", "CaSSLe")): r"& \textbf{69.6}& \CC{c}\textbf{76.9}  \\",
    (12, ("SwAV", "CaSSLe")): r"& \CC{k}59.7 & \CC{k}\textbf{61.3}  \\",
    (13, ("Barlow Twins", "Fine-tuning")): r"& \CC{f}49.9\\",
    (14, ("SimCLR", "CaSSLe")): r"& \CC{c}\textbf{74.0} & \CC{c}\textbf{77.2}  \\",
    (15, ("MSE",)): r" & 61.3  & 64.6 & \CC{p}\textbf{66.7} \\",
}  # fmt: skip
SIZES = {2: 81, 3: 8, 4: 120, 5: 18, 6: 9, 7: 40, 8: 13, 9: 26, 10: 322, 11: 4, 12: 24, 13: 4, 14: 8, 15: 9}


def parsed(line):
    """Every number of a row of LaTeX, and None for a dash."""
    cells = [re.sub(r"\\CC\{\w*\}|\\(textbf|underline)|\\multirow\{2\}\{\*\}|[{}\\]", "", cell).strip() for cell in line.split("&")]
    return [None if cell == "-" else float(cell) for cell in cells if cell]


@pytest.mark.parametrize(("number", "row"), EXCERPTS)
def test_rows_are_as_printed(number, row):
    assert [cell.published for cell in tables()[number].cells() if cell.row == row] == parsed(EXCERPTS[number, row])


def test_every_table_is_there_as_large_as_in_the_paper():
    assert {number: len(found.cells()) for number, found in tables().items()} == SIZES
    for found in tables().values():
        places = [(cell.row, cell.column) for cell in found.cells()]
        assert len(set(places)) == len(places)
        assert {len(cell.row) for cell in found.cells()} == {len(found.corner)}


def test_a_number_that_is_in_two_tables_is_the_same_but_where_it_is_said_to_differ():
    known, differ = {}, set()
    for number, found in tables().items():
        for cell in found.cells():
            asked = (cell.experiment().toml(), cell.probe, cell.head.measure, cell.head.until)
            first = known.setdefault(asked, (number, cell))
            if first[1].published != cell.published:
                differ.add((first[0], number, cell.row, cell.column))
    assert differ == {
        (2, 4, ("BYOL", "CaSSLe"), ("CIFAR-100", "FT")),
        (4, 7, ("MoCoV2+", "Offline"), ("ImageNet-100",)),
    }
    assert any("43.6" in note and "42.2" in note for note in tables()[4].notes) and any("78.2" in note for note in tables()[7].notes)


def test_averages_over_domains_follow_from_them_but_where_it_is_said_that_they_do_not():
    cells, sizes = tables()[10].cells(), list(DOMAINS.values())
    odd = []
    for row in dict.fromkeys(cell.row for cell in cells):
        values = [cell.published for cell in cells if cell.row == row]
        for word, own in (("Aw.", values[0::2]), ("Ag.", values[1::2])):
            if abs(sum(a * n for a, n in zip(own, sizes)) / sum(sizes) - own[-1]) > 0.1:
                odd.append((*row, word))
    assert odd == [("SimCLR", "CaSSLe", "Aw."), ("SimCLR", "CaSSLe", "Ag."), ("MoCoV2+", "CaSSLe", "Ag.")]


@pytest.mark.parametrize("number", SIZES)
def test_every_cell_is_an_experiment_in_full_and_on_every_budget(number):
    for cell in tables()[number].cells():
        budgets = import_module(f"cassle.presets.{cell.head.preset}").BUDGETS
        lengths = [cell.experiment(budget).epochs for budget in (None, *budgets)]
        assert lengths[1:] == [cell.head.times * budget for budget in budgets] and lengths[0] > max(lengths[1:])
        assert cell.experiment().probes[0].label == cell.probe == cell.experiment(50).probes[0].label


def test_cells_ask_for_what_they_show():
    label = {number: {cell.column: cell.probe for cell in tables()[number].cells() if "BYOL" in (*cell.row, *cell.column)} for number in tables()}
    assert set(label[2].values()) == {"online(leak=true)"} and label[4]["ImageNet-100", "A"] == "sgd(lr=3.0)"
    assert label[7]["DomainNet",] == label[10]["Avg.", "Aw."] == "sgd(lr=3.0,aware=true)" and label[10]["Real", "Ag."] == "sgd(lr=3.0)"
    assert label[12] == {("Backbone",): "knn", ("Projector",): "knn(features=projector)"}
    assert {cell.probe for cell in tables()[9].cells() if cell.column == ("SimCLR",)} == {"sgd(share=0.1)", "sgd(share=0.01)"}
    assert label[8]["BYOL",].startswith("transfer(") and '"real"' in label[8]["BYOL",]


def test_offline_rows_are_judged_in_the_stream_s_columns_and_fifths_are_five_times_as_long():
    offline = next(cell.experiment() for cell in tables()[4].cells() if cell.row[1] == "Offline")
    assert (offline.stream.name, offline.groups.name, offline.strategy.name, offline.epochs) == ("joint", "class_incremental", "finetune", 500)
    classes, images = ([cell for cell in tables()[5].cells() if cell.row[0] == word and cell.column == ("Offline 1/5",)] for word in ("Class-inc.", "Data-inc."))
    assert {(c.experiment().stream.name, c.experiment().epochs, c.head.until) for c in classes} == {("class_incremental", 2000, 1)}
    assert {(c.experiment().stream.name, c.experiment(50).epochs, c.head.until) for c in images} == {("fraction", 250, None)}


@pytest.mark.parametrize(("word", "number"), [("2", 2), ("table4", 4), ("Table 7", 7), ("A", 10), ("tablef", 15), ("15", 15)])
def test_tables_have_numbers_and_letters(word, number):
    assert table(word).number == number


@pytest.mark.parametrize("word", ["1", "16", "G", "two", "", "-2"])
def test_other_tables_are_one_line(word):
    with pytest.raises(UserError, match="has no table .* 15, A, B") as error:
        table(word)
    assert "\n" not in str(error.value)
