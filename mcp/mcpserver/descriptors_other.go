//go:build !unix

package mcpserver

// descriptorsScarce reports whether the process is about to run out of descriptors,
// of which this system has as many as there is memory for.
func descriptorsScarce() bool { return false }
