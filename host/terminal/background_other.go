//go:build !unix

package terminal

// IgnoreBackgroundReads does nothing: programs in the background have no terminal here.
func IgnoreBackgroundReads() {}

func inBackground(int) bool { return false }
