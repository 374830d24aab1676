//go:build !unix

package mcpclient_test

import "os"

// running reports whether the process can be opened: on Windows one that has
// ended cannot.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}
