//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package terminal

func dropTypeahead(int) {}

func inBackground(int) bool { return true }
