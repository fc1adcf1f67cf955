"""A film with a real picture and real speech."""

import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

SPEECH = Path(__file__).parents[2] / "providers" / "speech.wav"
_SIDE = 32
_PICTURES = 5


def write_film(path: Path, *, silent_seconds: int) -> None:
    """Write a film in which nothing is said at first, then the speech."""
    with wave.open(str(SPEECH)) as speech:
        rate = speech.getframerate()
        heard = np.frombuffer(speech.readframes(speech.getnframes()), dtype=np.int16)
    samples = np.concatenate([np.zeros(silent_seconds * rate, dtype=np.int16), heard])
    with av.open(str(path), "w") as film:
        pictures = film.add_stream("mpeg4", rate=1)
        pictures.width, pictures.height, pictures.pix_fmt = _SIDE, _SIDE, "yuv420p"
        sound = film.add_stream("aac", rate=rate, layout="mono")
        for number in range(_PICTURES):
            shade = np.full((_SIDE, _SIDE, 3), 50 * number, dtype=np.uint8)
            film.mux(pictures.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), 0
        for piece in av.AudioResampler(format="fltp", layout="mono", rate=rate, frame_size=1024).resample(frame):
            film.mux(sound.encode(piece))
        film.mux(pictures.encode(None))
        film.mux(sound.encode(None))
