"""Labels in little room: broken alike, never cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from report_builders import fields_in

from abtune.report.text.labels import fit_labels, width_of_one_line
from abtune.shapes import PRESETS

CONV2D = [shape.label for shape in PRESETS["tvm14009"] if shape.workload == "conv2d_nhwc"]


def test_a_label_that_fits_is_left_alone() -> None:
    """With room enough a label is shown as published."""
    labels = fit_labels(CONV2D, 60)
    assert labels.shared == ""
    assert labels.lines == tuple((label,) for label in CONV2D)


def test_what_all_share_is_said_once() -> None:
    """Parts that are the same in every label are taken out before a label is broken."""
    labels = fit_labels(CONV2D, 45)
    assert labels.shared == "all have N=1 DIL=1"
    assert labels.lines[0] == ("H=224 W=224 C=3 K=64 R=7 S=7 STR=2 PAD=3",)


def test_labels_are_broken_at_the_same_places() -> None:
    """In two lines, each line of every label holds the same parts."""
    labels = fit_labels(CONV2D, 24)
    keys = {
        tuple("".join(field.split("=")[0] for field in line.split()) for line in row) for row in labels.lines
    }
    assert keys == {("HCK", "RSTRPAD")}


def test_neighbours_of_equal_value_are_one_field_if_that_makes_one_line() -> None:
    """``H=W=224`` stands for both fields."""
    labels = fit_labels(CONV2D, 37)
    assert labels.lines[0] == ("H=W=224 C=3 K=64 R=S=7 STR=2 PAD=3",)
    assert labels.width == width_of_one_line(CONV2D) == 37
    assert fit_labels(CONV2D, 20).lines[0] == ("H=W=224 C=3 K=64", "R=S=7 STR=2 PAD=3")
    assert fit_labels(["A=1_B=1_C=2"], 9).lines == (("A=1 B=1", "C=2"),)


def test_each_kind_has_names_of_its_own_in_a_table_of_several() -> None:
    """What the convolutions share is said of those with a field that no matrix product has."""
    mixed = [CONV2D[0], "M=512_N=256_K=640", CONV2D[3]]
    labels = fit_labels(mixed, 37)
    assert labels.shared == "all shapes with H have N=1 DIL=1"
    assert [line for (line,) in labels.lines] == [
        "H=W=224 C=3 K=64 R=S=7 STR=2 PAD=3",
        "M=512_N=256_K=640",
        "H=W=56 C=64 K=256 R=S=1 STR=1 PAD=0",
    ]
    assert width_of_one_line(mixed) == 35
    no_field_tells_them_apart = ["B=1_D=2", "B=1_D=3", "D=1_B=2", "D=2_B=2"]
    assert fit_labels(no_field_tells_them_apart, 6).shared == ""


def test_words_before_a_label_stay() -> None:
    """Words before a label, such as `without`, are kept with it."""
    labels = ["these shapes", "without N=1_H=7_C=64", "without N=1_H=8_C=64"]
    fitted = fit_labels(labels, 16)
    assert fitted.shared == ""
    assert [lines[0] for lines in fitted.lines] == ["these shapes", "without N=1 H=7", "without N=1 H=8"]


def test_names_that_fit_stay_as_they_can_be_typed() -> None:
    """Only the labels that are too long are broken at their joints."""
    labels = fit_labels(["other conv2d_nhwc", "without N=1_H=7_W=7"], 17)
    assert labels.lines == (("other conv2d_nhwc",), ("without N=1 H=7", "W=7"))


def test_a_name_keeps_its_underlines() -> None:
    """Only an underline before ``FIELD=`` is a joint; another belongs to the name."""
    name = "BM_Conv/min_time:2.000/real_time"
    assert fit_labels([name, "BM_Gemm/64"], 12).lines[0] == ("BM_Conv/min_", "time:2.000/", "real_time")
    assert fit_labels(["conv_relu_N=1_H=7", "conv_relu_N=1_H=8"], 12).shared == "all have conv_relu N=1"
    own = [f"mine:layer_norm:rows=512_columns={columns}" for columns in (768, 1024)]
    assert fit_labels(own, 30).lines == (("columns=768",), ("columns=1024",))
    assert fit_labels(own, 30).shared == "all have mine:layer_norm rows=512"
    brackets = fit_labels(["scaled_dot_product_attention[batch=8,heads=32]"], 34)
    assert "_".join("".join(brackets.lines[0]).split()) == "scaled_dot_product_attention[batch=8,heads=32]"


@given(
    labels=st.lists(
        st.from_regex(r"[A-Z]=\d{1,4}(_[A-Z]=\d{1,4}){0,5}", fullmatch=True), min_size=1, unique=True
    ),
    width=st.integers(8, 80),
)
def test_nothing_is_lost_and_all_fits(labels: list[str], width: int) -> None:
    """Every part of every label is in its lines or shared, and no line is wider than the room."""
    fitted = fit_labels(labels, width)
    assert fitted.width <= width
    for label, lines in zip(labels, fitted.lines, strict=True):
        shown = fields_in(" ".join((*lines, fitted.shared)))
        assert sorted(shown) == sorted(label.split("_"))
