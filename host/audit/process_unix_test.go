//go:build unix && !race

package audit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/state"
)

// auditFile is set for processes that write to that log until they are killed.
const auditFile = "FONDACO_AUDIT_TEST_FILE"

func init() {
	if path := os.Getenv(auditFile); path != "" {
		writeForever(path)
	}
}

func keyOfTest(context.Context) ([]byte, error) { return testKey, nil }

// countsBeside keeps the numbers of lines as the host does.
func countsBeside(path string) *state.Store {
	return state.Open(filepath.Join(filepath.Dir(path), "counts"), keyOfTest)
}

func writeForever(path string) {
	l, err := audit.Open(path, &audit.Options{MaxFile: 20_000, Key: keyOfTest, Counts: countsBeside(path)})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		if err := l.Write(host.Decision{Time: time.Now(), Principal: "p", Upstream: "u", Action: host.ActionConsent, Name: fmt.Sprint(i), Outcome: host.OutcomeDone}); err != nil {
			panic(err)
		}
		fmt.Println(i) // it is in the log now
	}
}

func TestProcessesThatAreKilledWhileTheyWriteLoseNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	var written int
	for range 2 { // two at once, twice
		var children []*exec.Cmd
		var outputs []*bufio.Scanner
		for range 2 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), auditFile+"="+path)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			children, outputs = append(children, cmd), append(outputs, bufio.NewScanner(io.Reader(out)))
		}
		for i, cmd := range children {
			n := 0
			for n < 300 && outputs[i].Scan() {
				n++
			}
			_ = cmd.Process.Kill()
			for outputs[i].Scan() {
				n++
			}
			_ = cmd.Wait()
			written += n
		}
	}
	r := verifyCounted(t, path, countsBeside(path))
	if !r.OK() || r.Lines < int64(written) || r.Lines > int64(written)+4 || r.Writers != 4 || r.Open != 4 || r.Files < 5 {
		t.Errorf("got %+v, want %d lines in the chains of four writers", r, written)
	}
}
