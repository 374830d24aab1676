//go:build unix && replicas

package fault_test

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// outcome is how a call ended.
type outcome int

const (
	right      outcome = iota // with its answer
	mayHaveRun                // with the answer of a replica that the call may have run
	cut                       // with its connection
	refused                   // with an error, and it has not run
	wrong                     // with another answer
	outcomes
)

// callEnd is a call that has ended.
type callEnd struct {
	line    string // of the ledger
	tool    string
	outcome outcome
	took    time.Duration
	beyond  time.Duration // what took is longer than the tool is
	err     error
}

// sharedCaller is a client of all replicas that calls without pause.
type sharedCaller struct {
	name     string
	revision mcp.Revision
	connect  func(context.Context) (*mcpclient.Client, error)
	repeats  int // how often a refused call is made again

	dialing sync.Mutex
	client  *mcpclient.Client // guarded by dialing
	lost    bool              // guarded by dialing: the connection of client

	mu         sync.Mutex
	calls      []callEnd // guarded by mu
	reopened   int       // guarded by mu: sessions that were lost
	listChange int       // guarded by mu: changes of the list of tools that were announced
	faults     []string  // guarded by mu
}

// sharedRevisions are all revisions.
var sharedRevisions = []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125, mcp.V20260728}

// newSharedCaller connects a client of one revision to a balancer.
func newSharedCaller(t *testing.T, name, url string, revision mcp.Revision) *sharedCaller {
	t.Helper()
	c := &sharedCaller{name: name, revision: revision}
	target := mcpclient.URL(url + "/mcp")
	if revision == mcp.V20241105 {
		target = mcpclient.EventStream(url + "/sse")
	}
	options := &mcpclient.Options{
		Revisions: []mcp.Revision{revision}, Logger: quiet, NoRestart: c.endsWithReplica(),
		ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			content, err := json.Marshal(map[string]string{"Name": ownerOf(p.Message)})
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, err
		},
		Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("verse of " + p.Messages[0].Content.Text())}, Model: "m"}, nil
		},
		OnToolsChanged: func(context.Context, *mcpclient.Client) { c.count(&c.listChange) },
		OnEvent: func(_ context.Context, e mcpclient.Event) {
			if e.Kind == mcpclient.EventReinitialised {
				c.count(&c.reopened)
			}
		},
		Ask:      mcpclient.AskOptions{Rate: mcp.Rate{PerSecond: 1000, Burst: 1000}},
		Timeouts: mcpclient.TimeoutOptions{Call: 2 * patience}, // it ends no call that is not at fault
	}
	c.connect = func(ctx context.Context) (client *mcpclient.Client, err error) {
		for range 3 * attempts { // a replica may be killed meanwhile
			if client, err = mcpclient.Connect(ctx, target, options); err == nil || ctx.Err() != nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		return client, err
	}
	var err error
	if c.client, err = c.connect(t.Context()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// endsWithReplica reports whether a session is one connection, as in HTTP+SSE. The client itself
// would wait longer after each loss.
func (c *sharedCaller) endsWithReplica() bool { return c.revision == mcp.V20241105 }

// current returns the client of the caller, a new one if the connection of HTTP+SSE is lost.
func (c *sharedCaller) current(ctx context.Context) *mcpclient.Client {
	c.dialing.Lock()
	defer c.dialing.Unlock()
	if !c.lost {
		return c.client
	}
	client, err := c.connect(ctx)
	if err != nil {
		return c.client
	}
	_ = c.client.Close()
	c.client, c.lost = client, false
	return client
}

// dropped has the next call use a new client if err says that the connection of client is lost.
func (c *sharedCaller) dropped(client *mcpclient.Client, err error) {
	_, lost := errors.AsType[*mcpclient.LostError](err)
	c.dialing.Lock()
	defer c.dialing.Unlock()
	if c.endsWithReplica() && client == c.client && (lost || errors.Is(err, mcpclient.ErrClosed) || errors.Is(err, mcpclient.ErrSessionLost)) {
		c.lost = true
	}
}

func ownerOf(question string) string { return "owner-" + strings.TrimPrefix(question, "Who has ") }

func (c *sharedCaller) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func (c *sharedCaller) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) < 20 {
		c.faults = append(c.faults, c.name+": "+fmt.Sprintf(format, args...))
	}
}

// run makes calls of several tools at the same time, until stop is closed.
func (c *sharedCaller) run(ctx context.Context, stop <-chan struct{}) {
	var work sync.WaitGroup
	for _, tools := range [][]string{{"echo", "add"}, {"slow"}, {"ask", "sample"}} {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				tool := tools[n%len(tools)]
				if tool == "ask" && !c.canElicit() {
					continue
				}
				c.call(ctx, tool, fmt.Sprintf("%s-%s-%d", c.name, tool, n))
			}
		})
	}
	work.Wait()
}

func (c *sharedCaller) canElicit() bool {
	return c.revision == mcp.V20250618 || c.revision == mcp.V20251125 || c.revision == mcp.V20260728
}

// call makes one call and records how it has ended. The line identifies it.
func (c *sharedCaller) call(ctx context.Context, tool, line string) callEnd {
	args := labelled{Line: line}
	if tool == "slow" {
		args.Ms = 100 + rand.N(1400)
	}
	want := map[string]string{
		"echo": line, "add": "added " + line, "slow": "finished " + line,
		"ask": line + " belongs to owner-" + line + "?", "sample": "verse of " + line,
	}[tool]
	end := callEnd{line: line, tool: tool}
	for range c.repeats + 1 {
		began := time.Now()
		got, err := c.text(ctx, tool, args)
		end.took, end.err = time.Since(began), err
		end.beyond = end.took - time.Duration(args.Ms)*time.Millisecond
		if end.outcome = judge(got, want, err); end.outcome != refused {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if end.outcome == wrong {
		c.fault("%s: got %v, want %q", tool, end.err, want)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, end)
	return end
}

// text calls a tool. The progress and the log messages have to be those of the call.
func (c *sharedCaller) text(ctx context.Context, tool string, args labelled) (string, error) {
	client := c.current(ctx)
	result, err := client.CallTool(ctx, tool, args,
		mcpclient.WithProgress(func(p mcp.ProgressParams) {
			if p.Message != "" && p.Message != args.Line {
				c.fault("%s: got the progress of %q", args.Line, p.Message)
			}
		}))
	c.dropped(client, err)
	if err != nil {
		return "", err
	}
	if result.IsError {
		return "", &mcpclient.ToolError{Result: result}
	}
	return result.Content.Text(), nil
}

// judge says how a call has ended.
func judge(got, want string, err error) outcome {
	_, lost := errors.AsType[*mcpclient.MayHaveRunError](err)
	switch {
	case err == nil && got == want:
		return right
	case err == nil:
		return wrong
	case strings.Contains(err.Error(), "may have run"):
		return mayHaveRun
	case lost:
		return cut
	}
	return refused
}
