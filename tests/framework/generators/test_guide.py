"""The generators of docs/plugins.md do what the page says."""

import doctest
import re
from pathlib import Path

import framework.generators

GUIDE = Path(__file__).parents[3] / "docs" / "plugins.md"
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def guide() -> str:
    """The part of the page that is about generators."""
    return GUIDE.read_text().partition("\n## Generators\n")[2]


def test_examples_of_the_guide() -> None:
    text = "\n".join(BLOCKS.findall(guide()))
    test = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    assert len(test.examples) > 5
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0


def test_the_guide_names_everything_that_there_is() -> None:
    text = guide()
    missing = [
        name
        for name in framework.generators.__all__
        if not re.search(rf"`[^`]*\b{name}\b[^`]*`", text) and not re.search(rf"\b{name}\(", text)
    ]
    assert set(missing) <= {"Context", "Generator", "GeneratorError", "Source", "Thread"}
