"""Start a broker of ours for the length of the check with the official Java client; exits as the check does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.support.broker import started_broker  # noqa: E402  (the path has to be set before)


def main() -> int:
    """Run the check."""
    with started_broker({"acknowledgmentAtBatchIndexLevelEnabled": "true"}) as broker:
        return subprocess.run([HERE / "run", broker.service_url, broker.admin_url], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
