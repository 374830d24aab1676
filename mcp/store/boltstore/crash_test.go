//go:build unix || windows

package boltstore_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/boltstore"
)

// childVar says what a child process does with the file that is its argument.
const childVar = "BOLTSTORE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVar) {
	case "open":
		openInChild(os.Args[1])
	case "write":
		writeInChild(os.Args[1])
	default:
		mcptest.Main(m)
	}
}

func childCommand(t *testing.T, does, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childVar+"="+does)
	return cmd
}

// child runs a child process and returns what it prints.
func child(t *testing.T, does, path string) string {
	t.Helper()
	output, err := childCommand(t, does, path).CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v: %s", err, output)
	}
	return string(output)
}

func openInChild(path string) {
	s, err := boltstore.Open(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("opened")
	s.Close()
}

// crashValue is the size of the values of a child that is killed: several pages.
const crashValue = 100 << 10

func crashText(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%08d", n), crashValue/8) }

// writeInChild writes numbered values and events, and prints each number that was written, until
// it is killed.
func writeInChild(path string) {
	s, err := boltstore.Open(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for n := 1; ; n++ {
		err := s.Put(ctx, "key", crashText(n), 0)
		if err == nil {
			err = s.Events().Append(ctx, "stream", int64(n), []byte(strconv.Itoa(n)))
		}
		if err == nil && n > 20 {
			err = s.Events().Trim(ctx, "stream", int64(n-20))
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(n)
	}
}

func TestFileOpensAfterTheProcessWasKilledInMidWrite(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := newPath(t)
		written := writeUntilKilled(t, path)
		s := open(t, path, nil)
		value, _, err := s.Get(t.Context(), "key")
		if err != nil || len(value) != crashValue {
			t.Fatalf("got %d bytes, %v, want a value of %d", len(value), err, crashValue)
		}
		n, err := strconv.Atoi(string(value[:8]))
		if err != nil || n < written || !bytes.Equal(value, crashText(n)) {
			t.Errorf("got value %d, %v, want at least %d, whole", n, err, written)
		}
		msgs, err := s.Events().After(t.Context(), "stream", int64(max(0, written-5)))
		if err != nil || len(msgs) < min(written, 5) {
			t.Errorf("got %q, %v, want the events up to %d", msgs, err, written)
		}
		if err := s.Put(t.Context(), "key", nil, 0); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

// writeUntilKilled runs a child that writes, kills it and returns the last number that it has
// printed.
func writeUntilKilled(t *testing.T, path string) (written int) {
	t.Helper()
	cmd := childCommand(t, "write", path)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // an error, as it was killed
	enough := 5 + rand.N(30)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatalf("child: %s", lines.Text())
		}
		written = n
		if n == enough {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return written
}
