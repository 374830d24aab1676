//go:build linux && release

package release_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// user is the user of programs in a bare root, which is that of the image.
const user = 65532

// A bareRoot is a directory that is the root of the file system for the programs in it.
type bareRoot struct {
	dir string
	env []string
}

// newBareRoot returns an empty root that every user can read.
func newBareRoot(t *testing.T) *bareRoot {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &bareRoot{dir: dir}
}

// add writes a file into the root.
func (r *bareRoot) add(t *testing.T, name string, mode os.FileMode, data []byte) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

// own makes a directory in the root that belongs to the user.
func (r *bareRoot) own(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	r.giveToUser(t, name)
}

// giveToUser makes a file or a directory belong to the user.
func (r *bareRoot) giveToUser(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return // the user in the root is the one of the test
	}
	if err := os.Chown(filepath.Join(r.dir, name), user, user); err != nil {
		t.Fatal(err)
	}
}

// command returns a command in the root, as the user. Root changes the root directory; others do it in a user namespace.
func (r *bareRoot) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Path, cmd.Err = program, nil // in the root
	cmd.Dir = "/"
	cmd.Env = append([]string{"LANG=C"}, r.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.dir}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	return cmd
}

// serves starts a host in the root, calls its tool that calculates, and stops it.
func (r *bareRoot) serves(t *testing.T, tool, program string, args ...string) {
	t.Helper()
	cmd := r.command(t.Context(), program, append(args, "--addr", "127.0.0.1:0")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skipf("this machine lets neither root nor a user change the root directory of a process: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	addr, said := "", new(strings.Builder)
	for lines := bufio.NewScanner(io.TeeReader(stderr, said)); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "LISTEN ")
		if addr == lines.Text() {
			addr = ""
		}
	}
	if addr == "" {
		t.Fatalf("%s %q ended: %v\n%s", program, args, cmd.Wait(), said)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	c := mcptest.Connect(t, mcpclient.URL("http://"+addr+"/mcp"), nil)
	got, err := c.Call[map[string]any](t.Context(), tool, map[string]string{"expression": "6 * 7"})
	if err != nil || got["exact"] != "42" {
		t.Errorf("got %v, %v, want 42", got, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v after an interrupt, want no error\n%s", err, said)
	}
}
