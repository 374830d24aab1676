package stdio

import (
	"syscall"
	"unsafe"
)

// pollFD is struct pollfd of poll(2).
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const (
	pollError  = 0x8
	pollHangUp = 0x10
)

// isHungUp reports whether nobody can read what is written to the descriptor any more.
func isHungUp(fd uintptr) bool {
	p := pollFD{fd: int32(fd)}
	var now syscall.Timespec
	n, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return int(n) == 1 && p.revents&(pollError|pollHangUp) != 0
}
