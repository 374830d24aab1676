package stdio

import "syscall"

// isHungUp reports whether nobody can read what is written to the descriptor any more. It asks
// epoll(7), which always reports that.
func isHungUp(fd uintptr) bool {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	defer syscall.Close(poll)
	if syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{Fd: int32(fd)}) != nil {
		return false // a file
	}
	var events [1]syscall.EpollEvent
	n, err := syscall.EpollWait(poll, events[:], 0)
	return err == nil && n == 1 && events[0].Events&(syscall.EPOLLERR|syscall.EPOLLHUP) != 0
}
