package load

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A child is a server that speaks on its pipes.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(command []string) (*child, error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...)}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 256<<10)
	return c, c.cmd.Start()
}

// stop closes the input of the child and waits for its end, 2 seconds at most.
func (c *child) stop() {
	c.in.Close()
	kill := time.AfterFunc(2*time.Second, func() { c.cmd.Process.Kill() })
	defer kill.Stop()
	c.cmd.Wait()
}

// readLine appends one line to dst.
func (c *child) readLine(dst []byte) ([]byte, error) {
	for {
		part, err := c.out.ReadSlice('\n')
		dst = append(dst, part...)
		if err != bufio.ErrBufferFull {
			return dst, err
		}
	}
}

// ask sends one message and returns the line that answers it.
func (c *child) ask(message, id string) ([]byte, error) {
	if _, err := io.WriteString(c.in, message+"\n"); err != nil {
		return nil, err
	}
	for {
		line, err := c.readLine(nil)
		if err != nil || strings.Contains(string(line), `"id":`+id) {
			return line, err
		}
	}
}

func (c *child) shakeHands(era string) error {
	if era == "26" {
		return nil
	}
	if _, err := c.ask(initialize, "1"); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	_, err := io.WriteString(c.in, initialized+"\n")
	return err
}

// recent is a power of two. Fewer answers than that may arrive out of order.
const recent = 1 << 14

// A pipeline keeps a number of requests in flight on the pipes of a child.
type pipeline struct {
	*child
	*meter
	call  *call
	line  []byte // the next request
	batch []byte // requests that are not written yet
	id    uint64
	sent  [recent]time.Time
}

func overStdio(p Params) (Outcome, error) {
	c, err := start(p.Command)
	if err != nil {
		return Outcome{}, err
	}
	defer c.stop()
	if err := c.shakeHands(p.Era); err != nil {
		return Outcome{}, err
	}
	l := &pipeline{child: c, meter: newMeter(p, c.cmd.Process.Pid), call: newCall(p), id: firstID}
	l.line = append(l.call.body, '\n')
	for range p.Callers {
		l.queue()
	}
	if err := l.run(); err != nil {
		return Outcome{}, err
	}
	return l.outcome(), nil
}

// run alternately writes the queued requests and reads the available answers until the
// measured time has ended.
func (l *pipeline) run() error {
	var line []byte
	for !l.over() {
		if _, err := l.in.Write(l.batch); err != nil {
			return err
		}
		l.batch = l.batch[:0]
		for more := true; more; more = l.out.Buffered() > 0 && len(l.batch) < 32<<10 {
			var err error
			if line, err = l.readLine(line[:0]); err != nil {
				return err
			}
			l.receive(line)
		}
	}
	return nil
}

func (l *pipeline) receive(line []byte) {
	id, ok := idOf(line)
	if !ok {
		return
	}
	if l.call.answers(line, id) {
		l.answered(l.sent[id%recent])
	} else {
		l.answeredWrong(line)
	}
	l.queue()
}

func (l *pipeline) queue() {
	l.id++
	for _, at := range l.call.ids {
		putID(l.line[at:], l.id)
	}
	l.batch = append(l.batch, l.line...)
	l.sent[l.id%recent] = time.Now()
}

// ColdStart is the time from the start of a process to its first list of tools.
func ColdStart(command []string, era string, tools int) (time.Duration, error) {
	call := newCall(Params{Era: era, Call: "list", Tools: tools})
	for _, at := range call.ids {
		putID(call.body[at:], firstID)
	}
	began := time.Now()
	c, err := start(command)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	if err := c.shakeHands(era); err != nil {
		return 0, err
	}
	answer, err := c.ask(string(call.body), strconv.Itoa(firstID))
	took := time.Since(began)
	if err == nil && !call.answers(answer, firstID) {
		err = fmt.Errorf("list of tools: got %.300s", answer)
	}
	return took, err
}
