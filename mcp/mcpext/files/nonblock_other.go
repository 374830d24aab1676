//go:build !unix && !windows

package files

// openNonblock is nothing where there are no named pipes.
const openNonblock = 0
