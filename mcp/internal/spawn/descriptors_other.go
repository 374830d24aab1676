//go:build !unix

package spawn

// closeDescriptorsOnExec does nothing: on Windows a child gets only the handles that are
// listed at its start, and the other systems have no processes.
func closeDescriptorsOnExec() {}
