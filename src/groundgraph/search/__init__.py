"""What every source that ranks for itself shares; a store fills its pools, and the order is said once."""
