//go:build !unix && !windows

package mcpserver

// openNonblock is nothing where there are no named pipes.
const openNonblock = 0
