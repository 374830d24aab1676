//go:build unix && !linux

package spawn

const descriptorDir = "/dev/fd"

func closeRangeOnExec() bool { return false }
