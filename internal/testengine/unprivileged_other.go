//go:build !unix

package testengine

import "os/exec"

// unprivileged does nothing: this system has no user root.
func unprivileged(cmd *exec.Cmd) *exec.Cmd { return cmd }

// giveTo does nothing.
func giveTo(*exec.Cmd, string, ...string) error { return nil }
