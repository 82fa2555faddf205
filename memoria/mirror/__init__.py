"""The brain as a folder: bundles of atoms by bucket, tag and source, and pages that lead to them."""

from memoria.mirror.mirror import Difference, Mirror
from memoria.mirror.navigation import ExtraPage
from memoria.mirror.sync import Settings

__all__ = ["Difference", "ExtraPage", "Mirror", "Settings"]
