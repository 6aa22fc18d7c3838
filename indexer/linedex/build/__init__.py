"""Files become rows: workers analyse, one writer commits."""
