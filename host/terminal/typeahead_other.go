//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package terminal

func dropTypeahead(int) {}
