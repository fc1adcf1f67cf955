"""The embedder that needs nothing: the same vectors as the package's own, without its side effects."""

import subprocess
import sys

from holdfast.providers.light import LightEmbedder

QUIET = """
import asyncio, logging, sys
from holdfast.providers.light import LightEmbedder
asyncio.run(LightEmbedder().embed(["a text"]))
assert logging.getLogger().handlers == [], logging.getLogger().handlers
assert logging.getLogger().level == logging.WARNING
assert "wordllama" not in sys.modules
"""
SAME = """
import asyncio, pathlib
import numpy, wordllama
from holdfast.providers.light import LightEmbedder
# The last is longer than what is summed up at once.
texts = ["A short text.", "Another one, somewhat longer. " * 20, "Ünïcode, 日本語", "one " * 5000 + "two " * 5000]
original = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True)
vectors = asyncio.run(LightEmbedder().embed(texts)).vectors
numpy.testing.assert_allclose(vectors, original.embed(texts, norm=True), atol=1e-4)
"""
LAZY = """
import sys
import holdfast.providers.light, holdfast.providers.gathering
import holdfast.providers.openai_embedder, holdfast.providers.openai_model, holdfast.providers.openai_transcriber
import holdfast.providers.deepgram, holdfast.providers.whisper
heavy = {"numpy", "tokenizers", "httpx2", "faster_whisper", "av"} & set(sys.modules)
assert not heavy, heavy
"""


def test_vectors_are_those_of_the_package_itself() -> None:
    subprocess.run([sys.executable, "-c", SAME], check=True)


async def test_what_is_alike_is_near() -> None:
    texts = ["The harbour was full of boats.", "Ships lay in the port.", "Wheat prices rose by four percent."]
    harbour, port, wheat = (await LightEmbedder().embed(texts)).vectors
    assert harbour @ port > harbour @ wheat


def test_use_leaves_logging_as_it_was() -> None:
    subprocess.run([sys.executable, "-c", QUIET], check=True)


def test_importing_providers_imports_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True)
