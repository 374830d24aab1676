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

// startup is how long a program may take until it listens, and ending how long
// until it has ended.
const (
	startup = 30 * time.Second
	ending  = 10 * time.Second
)

// process is a program that runs until the test ends.
type process struct {
	*exec.Cmd
	addr  string // where it listens
	stdin io.Closer
	said  *diary
	ended chan struct{} // closed once it has ended
	err   error         // why it ended otherwise than well; to be read after ended
}

// start runs a program that prints LISTEN host:port on standard error once it is
// ready. The caller ends it.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{
		Cmd:   exec.Command(name, args...),
		said:  &diary{listens: make(chan string, 1)},
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

// await returns when the process has ended, with the error of its exit code. One
// that does not end fails the test and is killed.
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

// kill ends the process if it has not ended yet, and returns when it has.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// startForeign starts a foreign server over HTTP for the time of the test, and
// returns where it listens. The name is that of a module of Node.
func startForeign(t *testing.T, module string, args ...string) string {
	t.Helper()
	args = append([]string{"--require", "./loopback.cjs", module}, args...)
	p := start(t, []string{"PORT=0"}, "node", args...)
	t.Cleanup(func() {
		_ = p.stdin.Close()
		if err := p.await(t); err != nil {
			t.Errorf("%s: %v\n%s", p, err, p.said)
		}
	})
	return p.addr
}

// diary takes the standard error of a process: it hears where the process
// listens, and keeps the end of it for whoever has to explain a failure.
type diary struct {
	listens chan string

	mu   sync.Mutex
	text []byte // guarded by mu: whole lines, and one that is not ended yet
	told int    // guarded by mu: how much of text is whole lines
}

const maxDiary = 64 << 10

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = append(d.text, b...)
	for {
		line, _, whole := bytes.Cut(d.text[d.told:], []byte("\n"))
		if !whole {
			break
		}
		d.told += len(line) + 1
		if addr, ok := strings.CutPrefix(string(line), "LISTEN "); ok {
			select {
			case d.listens <- addr:
			default:
			}
		}
	}
	if old := min(len(d.text)-maxDiary, d.told); old > 0 {
		d.text, d.told = d.text[old:], d.told-old
	}
	return len(b), nil
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return string(d.text)
}
