//go:build hostile && linux

package proof

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// onTerminal runs the program on a terminal for up to 30 seconds, types keys, and returns what
// was shown. Only a person can do that; a program of a server or a client has no terminal.
func (u *hostUser) onTerminal(keys string, args ...string) string {
	u.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	must(u.t, err)
	defer master.Close()
	must(u.t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(u.t, err)
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(u.t, err)
	ctx, cancel := context.WithTimeout(u.t.Context(), replyTimeout)
	defer cancel()
	c := u.command(ctx, args...)
	c.Stdin, c.Stdout, c.Stderr = line, line, line
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	_ = line.Close()
	must(u.t, err)
	_, err = io.WriteString(master, keys)
	must(u.t, err)
	var screen hostOutput
	_, _ = io.Copy(&screen, master) // its error is the end of the program
	_ = c.Wait()
	return screen.String()
}
