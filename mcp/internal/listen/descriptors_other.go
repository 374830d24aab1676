//go:build !unix

package listen

// descriptorsScarce reports whether few file descriptors are left. This system has no limit
// other than its memory.
func descriptorsScarce() bool { return false }
