package testdir

// prepare does nothing: files of Windows have no modes, and its sockets none that tests use.
func prepare() error { return nil }
