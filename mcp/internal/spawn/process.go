package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Process is a running child and every process that it started. Read reads its standard
// output and Write writes its standard input.
//
// A Process holds pipes until Close is called, even after the child has ended.
// All methods are safe for concurrent use.
type Process struct {
	command Command // its path and arguments
	cmd     *exec.Cmd
	opts    *Options
	tree    tree
	end     func() error // shutDown, once

	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tail   *tail

	exited chan struct{} // closed when the leader has ended and its tree is killed
	done   chan struct{} // closed when standard error has been read to its end, too
	exit   *ExitError    // how it ended; set before done is closed

	killed atomic.Bool // by Close

	mu    sync.Mutex
	ended bool // the tree must not be signalled any more: its id may have been reused
}

// Start runs the command.
//
// The child leads its own process group (a job on Windows), which ends with it: its remaining
// descendants are killed as soon as the child has ended, for whatever reason. On Linux that
// includes descendants that created a session of their own: they are recognized by the
// variable FONDACO_SPAWN, or because they descended from the child when Close began. One that has
// replaced its environment survives if its parent had ended by then, or if the child ends without
// Close.
//
// The child gets three descriptors: standard input, output and error. Descriptors that this process
// has inherited are not passed on; on Unix, Start marks all descriptors of this process to be closed
// when a program is executed.
//
// When this process dies without Close, the child reads the end of its standard input. On
// Linux it also gets SIGTERM, and on Windows it is killed.
func Start(c Command, opts *Options) (*Process, error) {
	p, err := start(c, opts)
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	return p, nil
}

func start(c Command, opts *Options) (*Process, error) {
	if err := checkPlatform(runtime.GOOS); err != nil {
		return nil, err
	}
	cmd, err := c.prepare()
	if err != nil {
		return nil, err
	}
	p := &Process{
		command: Command{Path: c.Path, Args: c.Args},
		cmd:     cmd,
		opts:    opts,
		tail:    newTail(opts.stderrLimit(), opts.stderrLine()),
		exited:  make(chan struct{}),
		done:    make(chan struct{}),
	}
	p.end = sync.OnceValue(p.shutDown)
	theirs, err := p.connect()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go p.run(started)
	err = <-started
	closeAll(theirs)
	if err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		return nil, err
	}
	return p, nil
}

// connect creates the three pipes and returns the child's ends of them.
//
// It does not use the pipes of exec.Cmd, because Wait would close them before everything is
// read, and would wait for readers that a grandchild can block forever.
func (p *Process) connect() (theirs []*os.File, err error) {
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	stdin, w := pipe()
	r, stdout := pipe()
	e, stderr := pipe()
	theirs = []*os.File{stdin, stdout, stderr}
	if err != nil {
		closeAll(append(theirs, w, r, e))
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	p.stdin, p.stdout, p.stderr = w, r, e
	return theirs, nil
}

// closeAll closes files, of which some may be nil.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// run starts the child, sends the error of the start, and waits for the child's end.
//
// Both happen on one thread, because Linux sends Pdeathsig when the thread that forked the
// child ends. Waiting occupies a thread in any case, and this one lives exactly as long as
// the child.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	err := p.launch()
	started <- err
	if err == nil {
		p.reap()
	}
}

func (p *Process) launch() error {
	p.tree.prepare(p.cmd)
	closeDescriptorsOnExec()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	if err := p.tree.attach(p.cmd.Process); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		return err
	}
	return nil
}

// reap waits for the leader, kills its remaining descendants and records how it ended. It is
// the only Wait of every Start.
func (p *Process) reap() {
	stderrRead := p.readStderr()

	// Where the platform allows it, the tree is killed before the dead leader is waited for:
	// until then its id is not reused.
	held := awaitExit(p.cmd.Process.Pid)
	if !held {
		_ = p.cmd.Wait()
	}
	p.killTree()
	if held {
		_ = p.cmd.Wait()
	}
	p.tree.killRest(time.Now().Add(p.opts.waitDelay()))
	close(p.exited)
	_ = p.stdout.SetReadDeadline(longAgo) // wakes Read, which then sees exited
	_ = p.stderr.SetReadDeadline(time.Now().Add(p.opts.waitDelay()))
	<-stderrRead
	p.exit = exitError(p.cmd.ProcessState, p.tail)
	close(p.done)
}

// readStderr reads standard error to its end and then closes stderrRead.
func (p *Process) readStderr() (stderrRead <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.stderr.Close()
		if _, err := io.Copy(p.tail, p.stderr); err != nil {
			b := make([]byte, 64<<10) // what a pipe holds
			n, _ := readBuffered(p.stderr, b)
			_, _ = p.tail.Write(b[:n])
		}
		p.tail.end()
	}()
	return done
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// killTree kills the tree after its leader has died, and prevents further signals to it.
func (p *Process) killTree() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tree.kill()
	p.ended = true
}

// signal calls send unless the tree has ended.
func (p *Process) signal(send func(*tree)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		send(&p.tree)
	}
}

// Pid returns the process id of the child.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the child and its tree have ended and all of standard
// error has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done and returns nil if the child exited with status 0, and
// otherwise an *ExitError. It does not replace Close.
func (p *Process) Wait() error {
	if exit := p.Exit(); exit.Status != 0 {
		return exit
	}
	return nil
}

// Exit waits for Done and returns how the child ended, also if it exited with status 0.
func (p *Process) Exit() *ExitError {
	<-p.done
	return p.exit
}

// StderrTail returns the last bytes that the child wrote to standard error, as
// valid UTF-8. They may contain control characters of the child.
func (p *Process) StderrTail() string { return p.tail.String() }

// LastLines returns the last lines on standard error, as ExitError.LastLines does, also
// while the child runs.
func (p *Process) LastLines() []string { return lastLines(p.tail.last(maxStderr)) }

// Read reads standard output. After the child has ended it reads the remaining output, and
// waits at most WaitDelay for a descendant that keeps the pipe open.
func (p *Process) Read(b []byte) (int, error) {
	for {
		ended := p.hasExited()
		if ended {
			_ = p.stdout.SetReadDeadline(time.Now().Add(p.opts.waitDelay()))
		}
		n, err := p.stdout.Read(b)
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case ended:
			return readBuffered(p.stdout, b)
		case !p.hasExited():
			return 0, err
		}
	}
}

func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// SetReadDeadline sets the deadline of Read, as os.File does. It has no effect
// once the child has ended.
func (p *Process) SetReadDeadline(t time.Time) error { return p.stdout.SetReadDeadline(t) }

// Write writes to standard input.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// SetWriteDeadline sets the deadline of Write, as os.File does.
func (p *Process) SetWriteDeadline(t time.Time) error { return p.stdin.SetWriteDeadline(t) }
