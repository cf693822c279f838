"""SW3xx: this machine lacks something."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW301",
        "there is no C++ compiler",
        "Programs are generated as C++ and built when a model is compiled. swath looks for g++,"
        " then clang++, then the `ziglang` wheel, which carries clang. Running an artefact needs"
        " none.",
        "swath.compile(model, example_inputs)    # on a machine without a compiler",
        "pip install 'swath[cc]'",
    ),
    Entry(
        "SW302",
        "the C++ compiler failed",
        "The error says what the compiler printed. Old compilers don't know the ISA levels"
        " (g++ 11, clang 12 and later do); otherwise it is a defect of swath.",
        'swath.Options(compiler="g++-9")',
        'swath.Options(compiler="clang++")',
    ),
    Entry(
        "SW303",
        "PyTorch isn't installed",
        "Models are imported with torch.export. Artefacts are loaded, run, inspected, verified and"
        " timed without PyTorch.",
        "pip install swath && swath compile model.py:make",
        "pip install 'swath[torch]' && swath compile model.py:make",
    ),
    Entry(
        "SW304",
        "the limits of this machine can't be measured",
        "`swath inspect --roofline` builds and runs a small C++ program that measures arithmetic"
        " and memory. It needs g++ or clang++, and 1 GB of memory.",
        "swath inspect model.swath --roofline    # without a compiler",
        "apt-get install g++ && swath inspect model.swath --roofline",
    ),
    Entry(
        "SW310",
        "the artefact has no library that this CPU can run",
        "An artefact holds one library for each ISA that was asked for; the best one that the CPU"
        " has is taken at load.",
        'swath.Options(targets=("x86-64-v4",))    # and then loaded on a CPU without AVX-512',
        'swath.Options(targets=("x86-64-v3", "x86-64-v4"))',
    ),
)
