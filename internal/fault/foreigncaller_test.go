//go:build unix && replicas

package fault_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// foreignEnds are how a call of a client of another SDK has ended.
type foreignEnds struct{ answered, mayHaveRun, failed, silent, wrong, twice int }

// foreignCaller is a client of another SDK that calls without pause. When the client has given up,
// its program is started again.
type foreignCaller struct {
	program foreignProgram
	url     string

	mu      sync.Mutex
	process *foreignProcess // guarded by mu
	session string          // guarded by mu: of the process
	inRow   int             // guarded by mu: calls that have failed one after the other
	gaveUp  int             // guarded by mu
	calls   []foreignCall   // guarded by mu
	faults  []string        // guarded by mu
}

// foreignCall is a call that has ended.
type foreignCall struct {
	line, tool string
	outcome    outcome
	silent     bool // the client has waited until its timeout
	text       string
	took       time.Duration
}

// giveUpAfter is the number of failures in a row after which a client is taken to have given up.
const giveUpAfter = 10

func newForeignCaller(t *testing.T, p foreignProgram, url string) *foreignCaller {
	t.Helper()
	c := &foreignCaller{program: p, url: url}
	if err := c.connect(); err != nil {
		t.Fatalf("%s: connect: %v", p.name, err)
	}
	t.Cleanup(func() { c.process.close() })
	return c
}

// connect starts the program, again if a replica is killed meanwhile.
func (c *foreignCaller) connect() (err error) {
	for range 3 * attempts {
		process, failed := c.program.start(c.url+"/mcp", c.checkProgress)
		if err = failed; err == nil {
			c.process, c.session, c.inRow = process, process.first.Session, 0
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// checkProgress checks a message of the progress of a call. TypeScript 2 reports rounds of questions
// as progress of its own.
func (c *foreignCaller) checkProgress(r foreignReport) {
	if strings.Contains(r.ID, "-slow-") && r.Progress != r.ID {
		c.fault("%s got the progress of %q", r.ID, r.Progress)
	}
}

func (c *foreignCaller) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) < 20 {
		c.faults = append(c.faults, c.program.name+": "+fmt.Sprintf(format, args...))
	}
}

// run makes calls of several tools at the same time, until stop is closed.
func (c *foreignCaller) run(stop <-chan struct{}) {
	var work sync.WaitGroup
	for _, tools := range [][]string{{"echo", "add"}, {"slow"}, {"ask"}} {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				tool := tools[n%len(tools)]
				c.call(tool, fmt.Sprintf("%s-%s-%d", c.program.name, tool, n))
			}
		})
	}
	work.Wait()
}

// call makes one call and records how it has ended. The line identifies it.
func (c *foreignCaller) call(tool, line string) foreignCall {
	args := labelled{Line: line}
	if tool == "slow" {
		args.Ms = 100 + rand.N(1400)
	}
	want := map[string]string{
		"echo": line, "add": "added " + line, "slow": "finished " + line, "ask": line + " belongs to owner-" + line + "?",
	}[tool]
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	began := time.Now()
	r := process.call(tool, args)
	end := foreignCall{line: line, tool: tool, took: time.Since(began), text: r.Error}
	if r.IsError {
		end.text = r.Text
	}
	end.outcome, end.silent = judgeForeign(r, want)
	if end.outcome == wrong {
		c.fault("%s: got %q, want %q", tool, r.Text, want)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, end)
	c.count(process, end, r.Session)
	return end
}

// count starts the program again if its client has given up. The caller holds mu.
func (c *foreignCaller) count(process *foreignProcess, end foreignCall, session string) {
	switch {
	case process != c.process:
		return
	case end.outcome == right:
		c.inRow = 0
		if session != c.session {
			c.faults = append(c.faults, fmt.Sprintf("%s: the session %q became %q", c.program.name, c.session, session))
			c.session = session
		}
		return
	}
	if c.inRow++; c.inRow < giveUpAfter {
		return
	}
	c.gaveUp++
	go process.close()
	if err := c.connect(); err != nil {
		c.faults = append(c.faults, fmt.Sprintf("%s: connect again: %v", c.program.name, err))
	}
}

// judgeForeign says how a call has ended. An error of another SDK does not say whether the call has
// run.
func judgeForeign(r foreignReport, want string) (end outcome, silent bool) {
	text := r.Error
	if r.IsError {
		text = r.Text
	}
	switch {
	case text == "" && r.Text == want:
		return right, false
	case text == "":
		return wrong, false
	case strings.Contains(text, "may have run"):
		return mayHaveRun, false
	}
	low := strings.ToLower(text)
	return cut, strings.Contains(low, "timed out") || strings.Contains(low, "deadline") || strings.Contains(low, "timeout")
}

// worksAgain reports whether the client, as it is after the kills, gets an answer within some seconds.
func (c *foreignCaller) worksAgain() bool {
	for n := range attempts {
		if c.call("echo", fmt.Sprintf("%s-again-%d", c.program.name, n)).outcome == right {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
