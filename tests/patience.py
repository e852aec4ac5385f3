"""How long tests wait before they call a thing broken.

A machine may be as busy as can be, so no bound here tells how fast something is (`plyd bench` does that); it tells what
ends from what would not.
"""

import time

SOON = 120  # seconds: nothing that is waited for takes a tenth of it
LONG = 600  # seconds: a limit that nothing reaches unless it is broken; or for what compiles kernels first


def until(claim, seconds=SOON):
    """What a claim says, once it holds; the test fails if it does not soon."""
    end = time.monotonic() + seconds
    while not (result := claim()):
        assert time.monotonic() < end, f"still not so after {seconds} s"
        time.sleep(0.002)
    return result
