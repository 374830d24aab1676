package interop_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// startup limits the time until a program listens, and ending the time until it has
// exited.
const (
	startup = 3 * time.Minute
	ending  = 2 * time.Minute
)

// process is a program that runs until the test ends.
type process struct {
	*exec.Cmd
	addr  string // where it listens
	stdin io.Closer
	said  *stderrLog
	ended chan struct{} // closed when the process has exited
	err   error         // the result of Wait; read it only after ended is closed
}

// start starts a program that prints LISTEN host:port on standard error when it is ready.
// The caller must end the process.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{
		Cmd:   exec.Command(name, args...),
		said:  &stderrLog{listens: make(chan string, 1)},
		ended: make(chan struct{}),
	}
	p.Env = append(os.Environ(), env...)
	p.Stderr = p.said
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	if err := p.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.Wait()
	}()
	select {
	case p.addr = <-p.said.listens:
	case <-p.ended:
		t.Fatalf("%s ended before it was ready: %v\n%s", p, p.err, p.said)
	case <-time.After(startup):
		p.kill()
		t.Fatalf("%s was not ready within %v\n%s", p, startup, p.said)
	}
	return p
}

// await waits until the process has exited and returns the error of its exit code. If the
// process does not exit in time, await kills it and the test fails.
func (p *process) await(t *testing.T) error {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(ending):
		p.kill()
		t.Errorf("%s did not end within %v\n%s", p, ending, p.said)
	}
	return p.err
}

// stop closes standard input, and checks that the process exits with code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.stdin.Close()
	if err := p.await(t); err != nil {
		t.Errorf("%s: %v\n%s", p, err, p.said)
	}
}

// kill kills the process and waits until it has exited.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// startForeign starts a foreign server, a module of Node, over HTTP until the test ends,
// and returns its address.
func startForeign(t *testing.T, module string, args ...string) string {
	t.Helper()
	args = append([]string{"--require", "./loopback.cjs", module}, args...)
	p := start(t, []string{"PORT=0"}, "node", args...)
	t.Cleanup(func() { p.stop(t) })
	return p.addr
}

// stderrLog receives the standard error of a process. It finds the address at which the
// process listens, and keeps the last 64 KiB for the messages of failed tests.
type stderrLog struct {
	listens chan string

	mu   sync.Mutex
	text []byte // guarded by mu: complete lines and at most one incomplete line
	read int    // guarded by mu: the length of the complete lines in text
}

const maxStderr = 64 << 10

func (d *stderrLog) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = append(d.text, b...)
	for {
		line, _, whole := bytes.Cut(d.text[d.read:], []byte("\n"))
		if !whole {
			break
		}
		d.read += len(line) + 1
		if addr, ok := strings.CutPrefix(string(line), "LISTEN "); ok {
			select {
			case d.listens <- addr:
			default:
			}
		}
	}
	if old := min(len(d.text)-maxStderr, d.read); old > 0 {
		d.text, d.read = d.text[old:], d.read-old
	}
	return len(b), nil
}

func (d *stderrLog) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return string(d.text)
}
