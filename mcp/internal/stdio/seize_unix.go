//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package stdio

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// seize moves descriptors 0 and 1 to new places and puts the null device and
// standard error into theirs.
func seize() (*streams, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	in, err := move(os.Stdin, syscall.Stdin, int(null.Fd()))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	out, err := move(os.Stdout, syscall.Stdout, syscall.Stderr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("standard output: %w", err), in.restore())
	}
	return &streams{in: in.file, out: out.file, restore: func() error {
		return errors.Join(in.restore(), out.restore())
	}}, nil
}

// moved is a standard stream at another descriptor.
type moved struct {
	file  *os.File
	fd    int
	home  int
	block bool // it was blocking and is not now
}

// move gives the stream at the descriptor home another one, and home to the
// descriptor of the substitute.
func move(std *os.File, home, substitute int) (*moved, error) {
	fd, err := duplicate(home)
	if err != nil {
		return nil, err
	}
	m := &moved{fd: fd, home: home}
	if m.block = canUnblock(std); m.block {
		m.block = syscall.SetNonblock(fd, true) == nil
	}
	m.file = os.NewFile(uintptr(fd), std.Name())
	if err := dup2(substitute, home); err != nil {
		_ = m.file.Close()
		return nil, os.NewSyscallError("dup2", err)
	}
	return m, nil
}

func (m *moved) restore() error {
	if m.block {
		_ = syscall.SetNonblock(m.fd, false)
	}
	err := os.NewSyscallError("dup2", dup2(m.fd, m.home))
	return errors.Join(err, m.file.Close())
}

// duplicate returns a copy of fd that children do not inherit.
func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	c, err := syscall.Dup(fd)
	if err != nil {
		return 0, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(c)
	return c, nil
}

// canUnblock reports whether the stream may be set to non-blocking, which is a
// property of the open file and not of the descriptor. A terminal is shared with
// the shell, and a stream that is also standard error with everyone who logs.
func canUnblock(std *os.File) bool {
	info, err := std.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	stderr, err := os.Stderr.Stat()
	return err != nil || !os.SameFile(info, stderr)
}
