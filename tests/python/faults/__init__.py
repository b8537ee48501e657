"""What real clients make of each fault: a table in the docs, and the check that it is still true.

`cases` says what is asked, `probes` asks it through each client, `lanes` runs all of them,
`outcome` puts what was seen into few words, and `table` writes them down. `python -m faults --help`
in `tests/python` is the way in.
"""

# Before the clients are imported: it keeps them, and the proxies, off the internet.
import conftest  # noqa: F401
