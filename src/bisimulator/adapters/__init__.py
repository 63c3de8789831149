"""The environments as other libraries know them."""

from bisimulator.adapters.outcomes import ended_outcome
from bisimulator.adapters.registration import gymnasium_id, register_all

__all__ = ["ended_outcome", "gymnasium_id", "register_all"]
