"""Whether callers are asked for a key."""

import time

from holdfast.access.keys import Keys

LOOK_SECONDS = 2.0


class Door:
    """Open on loopback while there is no key. The first key closes it within seconds, and closed it stays.

    That the last key was revoked is no reason to let everybody in.
    """

    def __init__(self, keys: Keys, *, is_closed: bool) -> None:
        self._keys = keys
        self._is_closed = is_closed
        self._looked_at = time.monotonic()

    async def is_closed(self) -> bool:
        """Looks for keys now and then while it is open. Raises when the database cannot tell."""
        if not self._is_closed and time.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._is_closed = await self._keys.exist()
            self._looked_at = time.monotonic()
        return self._is_closed
