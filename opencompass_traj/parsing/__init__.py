"""Parsing: what an agent wrote or recorded, to a `Plan` or a `ParseFailure`; one module per format."""
