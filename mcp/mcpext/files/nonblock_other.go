//go:build !unix && !windows

package files

// openNonblock is zero on systems without named pipes.
const openNonblock = 0
