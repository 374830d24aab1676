//go:build unix && replicas

package fault_test

import (
	"bufio"
	"encoding/json/v2"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// foreignDir has the programs of other SDKs.
const foreignDir = "../../interop"

// foreignProgram is a client of another SDK that makes the calls on its standard input, see
// interop/peers/plan/loop.go.
type foreignProgram struct {
	name    string
	command []string // before the URL of the server
	after   []string // after it
	build   []string // arguments of go build, if it has to be built
	givesUp bool     // whether the SDK closes its client when a GET stream cannot be opened
}

// foreignPrograms are the newest versions, and those that speak the session era over HTTP.
var foreignPrograms = []foreignProgram{
	{name: "TypeScript 1.32", command: []string{"node", "client.mjs", "1"}, after: []string{"loop"}},
	{name: "TypeScript 2.4", command: []string{"node", "client.mjs", "2"}, after: []string{"loop"}},
	{name: "TypeScript 2.4, sessions", command: []string{"node", "client.mjs", "2-legacy"}, after: []string{"loop"}},
	{name: "go-sdk 1.8", build: []string{"./gosdk"}},
	{name: "go-sdk 1.2", build: []string{"-modfile", "older.mod", "-tags", "older", "./gosdk"}, givesUp: true},
	{name: "mcp-go 1.2", build: []string{"./mcpgo"}},
}

// prepareForeign builds the programs, and skips the test where they cannot run.
func prepareForeign(t *testing.T) []foreignProgram {
	t.Helper()
	if _, err := os.Stat(filepath.Join(foreignDir, "node_modules")); err != nil {
		t.Skip("the clients of other SDKs are not installed; make peers does that where Node is")
	}
	var ready []foreignProgram
	for _, p := range foreignPrograms {
		if p.build != nil {
			path := filepath.Join(t.TempDir(), "client")
			arguments := append([]string{"build", "-C", filepath.Join(foreignDir, "peers"), "-o", path}, p.build...)
			if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
				t.Fatalf("build %s: %v\n%s", p.name, err, out)
			}
			p.command = []string{path, "loop"}
		}
		ready = append(ready, p)
	}
	return ready
}

// foreignReport is a line that a foreign program prints.
type foreignReport struct {
	ID       string `json:"id"`
	Session  string `json:"session"`
	Text     string `json:"text"`
	IsError  bool   `json:"isError"`
	Error    string `json:"error"`
	Progress string `json:"progress"`
}

// foreignProcess is a running program, with one client.
type foreignProcess struct {
	*exec.Cmd
	stdin    io.WriteCloser
	first    foreignReport
	ended    chan struct{} // closed when the process has ended
	progress func(foreignReport)

	mu      sync.Mutex
	waiting map[string]chan foreignReport // guarded by mu
}

// start connects the client of a program to a server. progress gets the progress of calls.
func (p foreignProgram) start(url string, progress func(foreignReport)) (*foreignProcess, error) {
	arguments := append(append(p.command[1:len(p.command):len(p.command)], url), p.after...)
	f := &foreignProcess{Cmd: exec.Command(p.command[0], arguments...), ended: make(chan struct{}), waiting: make(map[string]chan foreignReport), progress: progress}
	f.Dir = foreignDir
	stdin, err := f.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := f.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if f.stdin = stdin; f.Start() != nil {
		return nil, errors.New("it does not start")
	}
	lines := bufio.NewReader(stdout)
	err = f.readReport(lines, &f.first)
	if err == nil && f.first.Error != "" {
		err = errors.New(f.first.Error)
	}
	go f.read(lines)
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *foreignProcess) readReport(lines *bufio.Reader, r *foreignReport) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, r)
}

func (f *foreignProcess) read(lines *bufio.Reader) {
	defer close(f.ended)
	for {
		var r foreignReport
		if err := f.readReport(lines, &r); err != nil {
			_, _ = io.Copy(io.Discard, lines)
			_ = f.Wait()
			return
		}
		if r.Progress != "" {
			f.progress(r)
			continue
		}
		f.mu.Lock()
		end := f.waiting[r.ID]
		delete(f.waiting, r.ID)
		f.mu.Unlock()
		if end != nil {
			end <- r
		}
	}
}

// call makes one call.
func (f *foreignProcess) call(tool string, args labelled) foreignReport {
	order, err := json.Marshal(map[string]any{"id": args.Line, "name": tool, "arguments": args})
	if err != nil {
		return foreignReport{Error: err.Error()}
	}
	end := make(chan foreignReport, 1)
	f.mu.Lock()
	f.waiting[args.Line] = end
	_, err = f.stdin.Write(append(order, '\n'))
	f.mu.Unlock()
	if err != nil {
		return foreignReport{Error: "the program does not run: " + err.Error()}
	}
	select {
	case r := <-end:
		return r
	case <-f.ended:
		return foreignReport{Error: "the program has ended"}
	case <-time.After(patience):
		return foreignReport{Error: "timeout of the program"}
	}
}

// close ends the client and the program.
func (f *foreignProcess) close() {
	_ = f.stdin.Close()
	select {
	case <-f.ended:
	case <-time.After(5 * time.Second):
		_ = f.Process.Kill()
		<-f.ended
	}
}
