"""Reports on finished runs: from the result files alone, without the host."""
