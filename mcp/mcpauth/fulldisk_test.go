//go:build linux || darwin

package mcpauth

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDiskKeepsTheOldValue runs itself in a process whose files cannot grow.
func TestFullDiskKeepsTheOldValue(t *testing.T) {
	if dir := os.Getenv(envStoreDir); dir != "" {
		updateOnFullDisk(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "tokens")
	s := fileStoreIn(t, dir)
	set(t, s, "a", []byte("old"))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDiskKeepsTheOldValue$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), envStoreDir+"="+dir)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	wantStored(t, s, "a", "old")
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func updateOnFullDisk(t *testing.T, dir string) {
	s := fileStoreIn(t, dir)
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(size uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: 1 << 40}); err != nil {
			t.Fatal(err)
		}
	}
	limit(roomStored / 2)
	err := s.Update(t.Context(), "a", func([]byte) ([]byte, error) {
		t.Error("a value was asked for that there is no room for")
		return nil, nil
	})
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("no room: got %v, want %v", err, syscall.EFBIG)
	}
	limit(roomStored + 1024)
	err = s.Update(t.Context(), "a", func([]byte) ([]byte, error) { return bytes.Repeat([]byte("x"), roomStored*2), nil })
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("no room for all of it: got %v, want %v", err, syscall.EFBIG)
	}
	wantStored(t, s, "a", "old")
	limit(1 << 40)
}
