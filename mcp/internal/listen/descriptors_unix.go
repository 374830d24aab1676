//go:build unix

package listen

import (
	"math"
	"syscall"
)

// descriptorsScarce reports whether 95 percent of the file descriptors that the process may
// have are in use. The operating system assigns the lowest free number, so the number of a
// new descriptor is at most the number of descriptors in use.
func descriptorsScarce() bool {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return false
	}
	next, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err == syscall.EMFILE
	}
	_ = syscall.Close(next)
	return float64(next) >= 0.95*float64(limit.Cur)
}

// descriptorLimit returns how many file descriptors the process may have.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt
	}
	return int(min(uint64(limit.Cur), math.MaxInt))
}
