// Package testdir makes the files and directories of tests the same on every machine.
package testdir

import (
	"fmt"
	"os"
)

// Prepare gives a test process what most users have, whatever the settings of who runs it: others
// cannot change what it creates, so the product accepts its directories as those of a user, and the
// paths below t.TempDir are short enough for sockets, of which macOS takes 103 bytes. The
// programs that tests start inherit both. TestMain calls it first.
func Prepare() {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "testdir:", err)
		os.Exit(1)
	}
}
