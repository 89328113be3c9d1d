"""The explorer in a real browser: whatever is changed, by mouse, keyboard or typing, it shows what the library gives."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import convexdesign as cd
from convexdesign.explore import PROBLEMS, State, alone, curve_alone
from convexdesign.explore.steps import walk

ARMS = [f"{c} of arm {i}" for i in range(3) for c in ("x", "y")]
NOISE = [f"noise variance of arm {i}" for i in range(3)]


def solved(shown) -> cd.Design:
    """The library's XY-allocation for the arms and variances that stand in the page's inputs."""
    arms = np.reshape(shown.values(*ARMS), (3, 2))
    return cd.solve(cd.DesignProblem.xy_allocation(arms, noise_variance=shown.values(*NOISE)))


def assert_is_solved(shown) -> None:
    wanted = solved(shown)
    assert shown.value() == pytest.approx(wanted.value, rel=1e-6)
    assert shown.shares() == pytest.approx(wanted.weights, abs=2e-5)


def test_it_opens_with_a_design_and_stays_on_this_machine(shown):
    assert shown.page.title() == "convexdesign explorer"
    assert shown.page.get_by_role("heading", level=1).inner_text() == "Designs in the plane"
    assert shown.values(*ARMS) == [1.0, 0.0, 0.0, 1.0, 0.88, 0.48]
    assert_is_solved(shown)
    blind = cd.solve(cd.DesignProblem.xy_allocation(np.reshape(shown.values(*ARMS), (3, 2))))
    assert shown.shares("blind") == pytest.approx(blind.weights, abs=2e-5)
    assert shown.root.locator("svg.equivalence").get_attribute("aria-label").startswith("An arm's sensitivity")


def test_dragging_an_arm_changes_the_design(shown):
    before = shown.shares()
    box = shown.handle("arm1").locator(".disc").bounding_box()
    plane = shown.root.locator("svg.plane").bounding_box()
    start = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse = shown.page.mouse
    mouse.move(*start)
    mouse.down()
    # A quarter of the plane to the right, an eighth down: half and a quarter of the coordinates shown.
    reach = float(shown.root.get_attribute("data-reach"))
    mouse.move(start[0] + plane["width"] / 4, start[1] + plane["height"] / 8, steps=12)
    shown.settle()
    assert shown.root.locator(".part.plan .waits").count() == 1  # whole numbers wait until the arm rests
    mouse.up()
    shown.settle()
    assert shown.values("x of arm 1", "y of arm 1") == pytest.approx([reach / 2, 1 - reach / 4], abs=0.011 * reach)
    assert shown.values("x of arm 0", "y of arm 0") == [1.0, 0.0]
    assert shown.shares() != before
    assert_is_solved(shown)
    assert shown.root.locator(".waits").count() == 0
    pulls = [int(cell) for cell in shown.root.locator(".counts td").all_inner_texts()]
    assert pulls == solved(shown).round(60).counts.tolist()


def test_a_finger_moves_an_arm_and_not_the_page(visit):
    shown = visit(width=390, touch=True)
    box = shown.handle("arm1").locator(".disc").bounding_box()
    width = shown.root.locator("svg.plane").bounding_box()["width"]
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    reach = float(shown.root.get_attribute("data-reach"))
    finger = shown.page.context.new_cdp_session(shown.page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for k in range(1, 11):
        at = {"x": x + k * width / 60, "y": y + k * width / 40}
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    shown.settle()
    # A sixth and a quarter of the plane, which shows the reach each way.
    assert shown.values("x of arm 1", "y of arm 1") == pytest.approx([reach / 3, 1 - reach / 2], abs=0.011 * reach)
    assert_is_solved(shown)


def test_typing_a_noise_variance_changes_the_design(shown):
    shown.input("noise variance of arm 1").fill("0.5")
    shown.settle()
    assert shown.values(*NOISE) == [1.0, 0.5, 1.0]
    assert shown.shares()[1] > 0.1
    assert_is_solved(shown)


def test_the_keyboard_alone_reaches_and_moves_everything(shown):
    press = shown.page.keyboard.press
    shown.page.get_by_label("Problem").focus()
    names = []
    for _ in range(40):
        press("Tab")
        name = shown.root.evaluate(
            "root => { const a = root.getRootNode().activeElement; return a?.ariaLabel || a?.labels?.[0]?.innerText"
            " || a?.innerText || '' }"
        )
        names.append(name.strip())
        if name == "arm 2":
            break
    assert names[-1] == "arm 2", names
    press("ArrowRight")
    press("Shift+ArrowDown")
    shown.settle()
    assert shown.values("x of arm 2", "y of arm 2") == pytest.approx([0.89, 0.38])
    assert shown.handle("arm2").get_attribute("aria-valuetext").startswith("0.89, 0.38, share ")
    assert_is_solved(shown)
    press("Delete")
    shown.settle()
    assert shown.root.locator("tbody tr").filter(has=shown.page.locator('[aria-label^="x of arm"]')).count() == 2
    # Inputs count up and down, and the button opens by the keyboard too.
    shown.input("y of arm 0").press("ArrowUp")
    shown.settle()
    assert shown.values("y of arm 0") == [0.05]
    shown.page.get_by_role("button", name="Python code").press("Enter")
    assert "cd.solve(problem)" in shown.root.locator("pre").inner_text()


def test_every_problem_can_be_chosen_and_shows_its_value(shown):
    """Each value is that of the code that the page gives; items are set, so that no two problems ask the same."""
    for _ in range(2):
        shown.page.get_by_role("button", name="Add an item").click()
    for problem in PROBLEMS:
        shown.page.get_by_label("Problem").select_option(problem)
        shown.settle()
        names: dict[str, object] = {}
        exec(shown.root.locator("pre").text_content(), names)
        assert names["problem"].kind == problem
        assert shown.value() == pytest.approx(names["design"].value, rel=1e-9)
        pulls = [int(cell) for cell in shown.root.locator(".counts td").all_inner_texts()]
        assert pulls == names["plan"].counts.tolist()
        bound = float(shown.root.locator("[data-samples]").get_attribute("data-samples"))
        assert bound == pytest.approx(names["samples"], rel=1e-9)


def test_a_singular_arrangement_says_what_to_do(shown):
    shown.page.get_by_label("Problem").select_option("a-optimal")
    for name, value in zip(ARMS, ("1", "0.5", "-0.8", "-0.4", "0.4", "0.2")):
        shown.input(name).fill(value)
    shown.settle()
    assert "No design" in shown.messages()
    assert "Move one arm off the line" in shown.messages()
    assert shown.root.locator(".part.design").is_hidden()
    shown.input("y of arm 2").fill("0.6")
    shown.settle()
    assert shown.messages() == ""
    assert sum(shown.shares()) == pytest.approx(1.0, abs=1e-5)


def test_nonsense_is_refused_and_the_page_goes_on(shown):
    shown.input("noise variance of arm 0").fill("-1")
    shown.settle()
    assert "noise variance of arm 0 is -1" in shown.messages()
    shown.input("noise variance of arm 0").fill("")  # unfinished: nothing is asked
    assert shown.input("noise variance of arm 0").get_attribute("aria-invalid") is not None
    shown.input("noise variance of arm 0").fill("4")
    shown.settle()
    assert shown.messages() == ""
    assert_is_solved(shown)


def test_the_link_and_the_address_bring_back_the_view(shown, visit):
    shown.page.get_by_label("Problem").select_option("best-arm-oracle")
    shown.page.get_by_role("button", name="Add an item").click()
    shown.page.get_by_role("button", name="Add an item").click()
    shown.input("theta, second").fill("0.3")
    shown.input("measurements").fill("25")
    shown.settle()
    state = State.from_query(shown.link())
    assert (state.problem, state.pulls, state.theta, len(state.items)) == ("best-arm-oracle", 25, (1.0, 0.3), 2)
    shown.page.wait_for_url(f"**/{shown.link()}")
    again = visit(shown.link().removeprefix("?"))
    assert again.link() == shown.link()
    assert again.value() == shown.value()
    assert again.shares() == shown.shares()
    assert again.page.get_by_label("Problem").input_value() == "best-arm-oracle"


def test_a_link_that_makes_no_sense_says_so(visit):
    shown = visit("problem=g-optimal&arms=1,0")
    assert "arms=1,0" in shown.messages()
    assert sum(shown.shares()) == pytest.approx(1.0, abs=1e-5)


def test_points_can_be_added_and_removed_and_examples_chosen(shown):
    shown.page.get_by_role("button", name="Add an arm").click()
    shown.settle()
    assert len(shown.shares()) == 4
    shown.page.get_by_role("button", name="Remove arm 1").click()
    shown.settle()
    assert shown.values(*ARMS[:2]) == [1.0, 0.0]
    assert_is_solved(shown)
    shown.page.get_by_label("Start from").select_option("A hexagon with equal noise")
    shown.settle()
    assert shown.shares() == pytest.approx([1 / 6] * 6, abs=1e-3)


def test_changes_are_undone_and_done_again(shown):
    first = shown.values(*ARMS)
    shown.input("x of arm 1").fill("0.4")
    shown.settle()
    shown.page.get_by_role("button", name="Add an arm").click()
    shown.settle()
    assert len(shown.shares()) == 4
    shown.page.get_by_role("button", name="Undo").click()
    shown.settle()
    assert len(shown.shares()) == 3
    shown.handle("arm0").focus()
    shown.page.keyboard.press("Control+z")
    shown.settle()
    assert shown.values(*ARMS) == first
    assert_is_solved(shown)
    shown.page.keyboard.press("Control+Shift+z")
    shown.settle()
    assert shown.values("x of arm 1") == [0.4]
    assert_is_solved(shown)
    shown.input("x of arm 1").fill("0.5")
    shown.settle()
    assert shown.page.get_by_role("button", name="Redo").is_disabled()


def test_a_dragged_point_goes_back_in_one_step(shown):
    first = shown.values(*ARMS)
    assert first == [1.0, 0.0, 0.0, 1.0, 0.88, 0.48]
    shown.root.locator("svg.plane").scroll_into_view_if_needed()
    box = shown.handle("arm2").locator(".disc").bounding_box()
    mouse = shown.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(box["x"] - 40, box["y"] + 50, steps=9)
    mouse.up()
    shown.settle()
    assert shown.values(*ARMS) != first
    shown.page.get_by_role("button", name="Undo").click()
    shown.settle()
    assert shown.values(*ARMS) == first


def test_the_region_is_never_cut_and_the_wheel_zooms(shown):
    inside = "plane => { const b = plane.querySelector('.region').getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height] }"
    shown.input("measurements").fill("2")
    shown.settle()
    plane = shown.root.locator("svg.plane")
    corners = plane.evaluate(inside)
    assert min(corners) >= 0
    assert max(corners) <= 400
    reach = float(shown.root.get_attribute("data-reach"))
    plane.hover(position={"x": 20, "y": 20})
    shown.page.mouse.wheel(0, -100)
    shown.page.get_by_role("button", name="Fit", disabled=False).wait_for()
    assert float(shown.root.get_attribute("data-reach")) < reach
    shown.page.get_by_role("button", name="Fit").click()
    assert float(shown.root.get_attribute("data-reach")) == reach


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_saved_as_they_look(visit, scheme, tmp_path):
    """The SVG carries its colours and stands alone; the PNG has the page's ground, the arms' colour and little else."""
    shown = visit(scheme=scheme)
    for name in ("plane", "equivalence"):
        place = shown.root.locator(".set" if name == "plane" else ".part.equivalence")
        saved = {}
        for kind in ("svg", "png"):
            with shown.page.expect_download() as download:
                place.locator(f".save-{kind}").click()
            assert download.value.suggested_filename == f"convexdesign-{name}.{kind}"
            saved[kind] = tmp_path / f"{name}.{kind}"
            download.value.save_as(saved[kind])
        text = saved["svg"].read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert "var(" not in text
        assert "url(" not in text.replace("url(#", "").replace("url(&quot;#", "")
        pixels = np.asarray(Image.open(saved["png"]).convert("RGB")).reshape(-1, 3).astype(int)
        ground = [255, 255, 255] if scheme == "light" else [21, 24, 29]
        informed = [198, 81, 0] if scheme == "light" else [240, 138, 60]
        assert np.mean(np.abs(pixels - ground).max(axis=1) < 8) > 0.5
        assert np.mean(np.abs(pixels - informed).max(axis=1) < 24) > 1e-4


def test_the_way_there_step_by_step(shown):
    shown.page.get_by_role("button", name="Walk there").click()
    shown.settle()
    way = walk(State.from_query(shown.link()), "frank-wolfe-vanilla")
    slider = shown.root.get_by_label("Step", exact=True)
    for k in (0, 5, 40):
        slider.fill(str(k))
        assert f"Step {k} of 40" in shown.root.locator(".walk").inner_text()
        share = 100 * way["points"][k]["weights"][0]
        assert shown.handle("arm0").get_attribute("aria-valuetext").endswith(f"share {share:.1f} %")
    shown.root.get_by_label("Method").select_option("multiplicative")
    shown.settle()
    assert "Step 1 of" in shown.root.locator(".walk").inner_text()
    shown.input("x of arm 1").fill("0.1")  # the steps belong to what was set before
    shown.settle()
    assert shown.root.locator(".walk").is_hidden()


def test_a_page_that_stands_alone_shows_the_same_and_changes_nothing(browser, tmp_path, as_explorer):
    file = tmp_path / "alone.html"
    file.write_text(alone("problem=d-optimal&arms=1,0,1;0,1,2;0.7,0.7,1"), encoding="utf-8")
    page = browser.new_page()
    asked, faults = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    shown = as_explorer(page)
    design = cd.solve(cd.DesignProblem.d_optimal([[1, 0], [0, 1], [0.7, 0.7]], noise_variance=[1, 2, 1]))
    assert shown.shares() == pytest.approx(design.weights, abs=2e-5)
    assert shown.value() == pytest.approx(design.value)
    assert shown.input("x of arm 0").is_disabled()
    before = shown.handle("arm0").get_attribute("transform")
    box = shown.handle("arm0").locator(".disc").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"] + 60, steps=4)
    page.mouse.up()
    assert shown.handle("arm0").get_attribute("transform") == before
    page.get_by_label("Step", exact=True).fill("2")
    assert "Step 2 of" in shown.root.locator(".walk").inner_text()
    assert faults == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1250, "light")])
def test_it_fits_narrow_and_wide_pages_and_can_be_read(visit, width, scheme):
    """Nothing is wider than the page, everything that takes input has a name, and words stand out from their ground."""
    shown = visit(width=width, scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.root.evaluate("root => root.scrollWidth <= root.clientWidth + 1")
    unnamed = shown.root.evaluate(
        "root => [...root.querySelectorAll('input, select, button, [tabindex]')].filter(e => !(e.ariaLabel"
        " || e.labels?.length || e.innerText?.trim())).map(e => e.outerHTML.slice(0, 80))"
    )
    assert unnamed == []
    contrast = shown.root.evaluate(CONTRAST)
    assert min(contrast.values()) >= 4.5, contrast


# The contrast of words with the page behind them (WCAG 2): of a paragraph, a soft label, a link, and names in the plane.
CONTRAST = """root => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => rgb(colour)
    .map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = light(getComputedStyle(root).backgroundColor);
  const found = {};
  for (const [what, css] of [['.part p', 'color'], ['.about', 'color'], ['a.link', 'color'], ['svg text', 'fill'],
    ['.handle.theta text', 'fill']]) {
    const words = light(getComputedStyle(root.querySelector(what))[css]);
    found[what] = (Math.max(words, ground) + 0.05) / (Math.min(words, ground) + 0.05);
  }
  return found;
}"""


def test_the_page_of_curves_shows_the_sensitivity_and_follows_what_is_typed(browser, address):
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{address}curve")
    rows = page.locator(".settings-found tbody tr")
    page.locator("svg.sensitivity-curve").wait_for()
    assert rows.count() == 3
    page.get_by_label("the mean").fill("1 + x")
    rows.nth(2).wait_for(state="detached")
    assert rows.count() == 2
    assert "model=1%20%2B%20x&" in page.url
    assert (
        page.locator("svg.sensitivity-curve")
        .get_attribute("aria-label")
        .startswith("The sensitivity over the interval")
    )
    page.get_by_label("the mean").fill("1 + y")
    page.locator(".message.trouble").wait_for()
    assert rows.count() == 0
    # Settings of one's own: by the arrow keys, dragged, and given up again.
    page.get_by_label("problem").select_option("c-optimal")
    page.get_by_label("wanted").fill("x = 2")
    page.get_by_label("noise variance").fill("1 + x**2")
    page.get_by_label("the mean").fill("1 + x + x**2")
    rows.nth(2).wait_for()
    handle, own = page.get_by_label("setting 1"), page.locator("[data-efficiency]")
    handle.press("Shift+ArrowRight")
    own.wait_for()
    assert handle.evaluate("node => node === document.activeElement")
    at = float(handle.get_attribute("aria-valuenow"))
    box = handle.bounding_box()
    wide = page.locator("svg.sensitivity-curve").bounding_box()["width"] * (640 - 56 - 16) / 640
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 0.2 * wide, box["y"], steps=4)
    page.mouse.up()
    for _ in range(600):
        if abs(float(handle.get_attribute("aria-valuenow")) - at - 0.4) < 0.01:
            break
        page.wait_for_timeout(100)
    moved = float(handle.get_attribute("aria-valuenow"))
    curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
    problem = cd.DesignProblem(curve, {"x": [2.0]}, noise_variance="1 + x**2")
    judged = cd.verify(problem, runs={"x": [-1, moved, 1]}, weights=cd.solve(problem).weights)
    assert float(own.get_attribute("data-efficiency")) == pytest.approx(judged.efficiency, abs=1e-4)
    page.get_by_role("button", name="Back to the best settings").click()
    own.wait_for(state="detached")
    assert faults == []
    page.close()


def test_curves_are_undone_and_redone_and_stand_alone(browser, address, tmp_path):
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{address}curve?model=1%20%2B%20x")
    rows = page.locator(".settings-found tbody tr")
    page.locator("svg.sensitivity-curve").wait_for()
    mean = page.get_by_label("the mean")
    mean.fill("1 + x + x**2")
    rows.nth(2).wait_for()
    page.get_by_role("button", name="Undo").click()
    rows.nth(2).wait_for(state="detached")
    assert mean.input_value() == "1 + x"
    assert page.get_by_role("button", name="Undo").is_disabled()
    mean.press("Control+Shift+Z")
    rows.nth(2).wait_for()
    assert mean.input_value() == "1 + x + x**2"
    assert "x%2A%2A2" in page.url
    file = tmp_path / "curve.html"
    file.write_text(curve_alone(page.url.partition("?")[2]), encoding="utf-8")
    page.goto(file.as_uri())
    page.locator("svg.sensitivity-curve").wait_for()
    assert rows.count() == 3
    assert page.get_by_label("the mean").get_attribute("readonly") is not None
    assert page.get_by_role("button", name="Undo").count() == 0
    page.get_by_text("Certificate and weights").click()
    saved = tmp_path / "design.json"
    saved.write_text(page.locator("#certificate").inner_text(), encoding="utf-8")
    assert cd.regions.RegionDesign.load(saved).value == pytest.approx(np.log(4 / 27), rel=1e-6)
    assert faults == []
    page.close()
