//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package stdio

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// redirect duplicates descriptors 0 and 1 and replaces them with the null
// device and standard error.
func redirect() (*streams, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	in, err := replace(os.Stdin, syscall.Stdin, int(null.Fd()))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	out, err := replace(os.Stdout, syscall.Stdout, syscall.Stderr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("standard output: %w", err), in.restore())
	}
	return &streams{in: in.file, out: out.file, restore: func() error {
		return errors.Join(in.restore(), out.restore())
	}}, nil
}

// duplicated is a standard stream at another descriptor.
type duplicated struct {
	file        *os.File
	fd          int
	number      int
	wasBlocking bool // its mode was blocking
}

// replace duplicates the standard stream at a descriptor and makes the
// descriptor refer to the substitute.
func replace(std *os.File, number, substitute int) (*duplicated, error) {
	fd, err := duplicate(number)
	if err != nil {
		return nil, err
	}
	m := &duplicated{fd: fd, number: number}
	if m.wasBlocking = canUnblock(std); m.wasBlocking {
		m.wasBlocking = syscall.SetNonblock(fd, true) == nil
	}
	m.file = os.NewFile(uintptr(fd), std.Name())
	if err := dup2(substitute, number); err != nil {
		_ = m.file.Close()
		return nil, os.NewSyscallError("dup2", err)
	}
	return m, nil
}

func (m *duplicated) restore() error {
	if m.wasBlocking {
		_ = syscall.SetNonblock(m.fd, false)
	}
	err := os.NewSyscallError("dup2", dup2(m.fd, m.number))
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

// canUnblock reports whether the stream may be set to non-blocking mode, which
// is a property of the open file and not of the descriptor. It must not change
// for a terminal, which the shell uses too, or for a stream that is also
// standard error.
func canUnblock(std *os.File) bool {
	info, err := std.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	stderr, err := os.Stderr.Stat()
	return err != nil || !os.SameFile(info, stderr)
}
