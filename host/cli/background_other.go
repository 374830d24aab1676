//go:build !unix

package cli

// ignoreBackgroundReads does nothing: programs in the background have no terminal here.
func ignoreBackgroundReads() {}
