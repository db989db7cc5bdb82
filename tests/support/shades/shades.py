"""An application of another distribution, in one file: a picture in evenly spaced shades of grey."""

import numpy as np
from PIL import Image

from mrfhw.applications.options import READING, Common, common_options, label_machine, same_size
from mrfhw.field.problem import Problem, Schedule
from mrfhw.jobs.application import Application, Measure, SceneWriter
from mrfhw.jobs.job import Cooling, Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.jobs.options import Option
from mrfhw.pictures.images import load_inputs, name_of
from mrfhw.report.exchange import writes_classes


def shades_problem(image, levels, *, alpha=1, beta=10, tau=None, temperature=8.0, schedule=None):
    return Problem(labels=len(levels), singleton1=image, constants=levels, singleton="absolute", doubleton="potts", alpha=alpha,
                   beta=beta, tau=tau, schedule=Schedule.constant(temperature) if schedule is None else schedule)


class Truth:
    error_name, wrong_above, wrong, title, note = "shades apart", 0.5, "another shade", "truth", ""

    def __init__(self, labels):
        self.picture = labels[..., None].astype(float)

    def error(self, labels):
        return np.abs(labels - self.picture[..., 0])

    def metrics(self, labels, mean, finer=None):
        return {"wrong": 100 * float((labels != self.picture[..., 0]).mean())}


def job(app, *, image, shades, truth, given, **others):
    common = Common.of(others, lambda widths: 40, label_machine("shades", shades), given)
    inputs = load_inputs({"image": image} | ({} if truth is None else {"truth": truth}), common.widths.data_bits, common.reading)
    grey, *true = same_size(dict(zip(("image", "truth"), inputs.data, strict=False)), common.window)
    levels = np.rint(np.linspace(0, (1 << common.widths.data_bits) - 1, shades)).astype(int)
    problem = shades_problem(grey, levels, schedule=common.schedule(8.0, Cooling(1.0, 0.1)), **common.energy)
    return Job(application=app, config=common.config, problem=problem, run=common.run, annealing=common.anneal,
               most_sweeps=common.most_sweeps, inputs={"picture": inputs.pictures[0]},
               scale=LabelScale(values=levels[:, None].astype(float), name="shade", kind="classes"),
               truth=Truth(np.abs(true[0][..., None].astype(int) - levels).argmin(-1)) if true else None,
               drawn_from=lambda labels: {"dark": labels == 0},
               settings=common.settings(app.verb, problem, image=name_of(image, "array"), labels=shades))


def write_demo(directory, rows, cols, seed, steps):
    clean = np.repeat(np.linspace(0, 255, steps).astype(np.uint8), -(-cols // steps))[None, :cols].repeat(rows, 0)
    noisy = np.clip(clean + np.random.default_rng(seed).normal(0, 20, clean.shape), 0, 255).astype(np.uint8)
    for name, picture in (("clean", clean), ("noisy", noisy)):
        Image.fromarray(picture).save(directory / f"{name}.png")
    return [directory / "clean.png", directory / "noisy.png"], f"{{}}/noisy.png --shades {steps} --truth {{}}/clean.png"


APPLICATION = Application(
    verb="shades", summary="Draw IMAGE in few shades.", title="Shades", arguments=("image",), job=job,
    options=(Option(name="shades", type=int, default=4, help="How many."), Option(name="truth", help="The clean picture."),
             *READING),
    common=common_options(shades_problem, {"sweeps": "40"}), maps={"dark": "White: what is black."},
    files={"shades.png": writes_classes}, measures={"wrong": Measure("wrong shades", "%", 1)},
    scene=SceneWriter(write=write_demo, options=(Option(name="steps", type=int, default=4, help="Shades of the scene (shades)."),)))
