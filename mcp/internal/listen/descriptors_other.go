//go:build !unix

package listen

import "math"

// descriptorsScarce reports whether few file descriptors are left. This system has no limit
// other than its memory.
func descriptorsScarce() bool { return false }

// descriptorLimit returns how many file descriptors the process may have.
func descriptorLimit() int { return math.MaxInt }
