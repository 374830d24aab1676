package integration_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// crowd is the number of clients in TestNoClientReceivesMessagesOfAnother.
const crowd = 200

var callsEach = flag.Int("calls", 10, "calls that each of 200 clients has in flight, with the ids from 1 on; make hostile has 50")

// forAll is long enough for a busy machine.
const forAll = 5 * time.Minute

var errLate = fmt.Errorf("not done within %v", forAll)

// quietServer logs nothing, disconnects no client that a busy machine keeps from reading, and
// serves all clients of the test at once.
func quietServer() *mcpserver.Server {
	const all = crowd * 100
	return mcpserver.New("crowded", "1", &mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler),
		HTTP:   &mcpserver.HTTPOptions{WriteTimeout: forAll},
		Load:   &mcpserver.LoadOptions{MaxCalls: all, ShareCalls: all, ToolRate: mcp.Rate{PerSecond: all, Burst: all}},
	})
}

type secret struct {
	Nonce string `json:"nonce"`
}

// meetingPlace is a server whose tool "meet" says its nonce in every way that
// there is, and waits for so many calls in between.
func meetingPlace(calls int) *mcpserver.Server {
	s, g := quietServer(), &gathering{size: calls}
	s.Tool("meet", "Waits for everybody", func(ctx context.Context, in secret) (string, error) {
		mcpserver.Progress(ctx, 1, 2, in.Nonce)
		mcpserver.Log(ctx).Info(in.Nonce)
		err := g.join(ctx)
		mcpserver.Progress(ctx, 2, 2, in.Nonce)
		return in.Nonce, err
	})
	return s
}

// A failure here means that answers or notifications reach the wrong client.
func TestNoClientReceivesMessagesOfAnother(t *testing.T) {
	claim.Shows(t, "R-005", "R-057")
	eachWire(t, func(t *testing.T, w wire) {
		began := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), forAll, errLate)
		defer cancel()
		to := w.serve(t, meetingPlace(crowd**callsEach))
		failed := make(chan error, crowd)
		for range crowd {
			go func() { failed <- attend(ctx, t, w, to) }()
		}
		var first error
		for range crowd {
			if err := <-failed; err != nil && first == nil {
				first = err
				cancel()
			}
		}
		if first != nil {
			t.Fatal(first)
		}
		t.Logf("%d clients with %d calls each: %v", crowd, *callsEach, time.Since(began).Round(time.Millisecond))
	})
}

// gathering holds calls until all are there, then lets them go on one after the
// other in random order.
type gathering struct {
	size int

	mu      sync.Mutex
	waiting []chan struct{}
}

func (g *gathering) join(ctx context.Context) error {
	turn := make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, turn)
	if len(g.waiting) == g.size {
		mathrand.Shuffle(g.size, func(i, j int) { g.waiting[i], g.waiting[j] = g.waiting[j], g.waiting[i] })
		for _, turn := range g.waiting {
			close(turn)
		}
	}
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attend is one client of the crowd. It returns an error when anything comes
// that is not its own, or anything of its own is missing.
func attend(ctx context.Context, t *testing.T, w wire, to way) error {
	c, err := connectRaw(ctx, t, w, to)
	if err != nil {
		return err
	}
	mine := make(account)
	for id := range *callsEach {
		mine[strconv.Itoa(id+1)] = &entry{nonce: rand.Text()}
	}
	sent := make(chan error, 1)
	go func() { sent <- mine.open(c) }()
	for !mine.settled() {
		m, err := c.next()
		if err == nil {
			err = mine.enter(m)
		}
		if err != nil {
			return err
		}
	}
	return <-sent
}

// account says what has come for the calls of one client, by id.
type account map[string]*entry

type entry struct {
	nonce    string
	progress int
	logged   bool
	answered bool
}

// open makes the calls.
func (a account) open(c *rawClient) error {
	for id := range len(a) {
		if err := c.call(id+1, "meet", secret{a[strconv.Itoa(id+1)].nonce}); err != nil {
			return err
		}
	}
	return nil
}

// enter takes one message and returns an error unless it belongs to a call.
func (a account) enter(m message) error {
	switch m.Method {
	case mcp.NotificationProgress:
		e := a[string(m.Params.Token)]
		if e == nil || e.nonce != m.Params.Message || e.answered {
			return fmt.Errorf("foreign progress: %+v", m)
		}
		e.progress++
	case mcp.NotificationMessage:
		for _, e := range a {
			if e.nonce == m.Params.Data.Message && !e.logged {
				e.logged = true
				return nil
			}
		}
		return fmt.Errorf("foreign log: %+v", m)
	case "":
		e := a[string(m.ID)]
		if e == nil || m.Error != nil || m.Result.Content.Text() != e.nonce || e.answered {
			return fmt.Errorf("foreign answer: %+v, error %+v", m, m.Error)
		}
		e.answered = true
	default:
		return fmt.Errorf("got %+v", m)
	}
	return nil
}

// settled reports whether all that belongs to the calls has come.
func (a account) settled() bool {
	for _, e := range a {
		if !e.answered || e.progress != 2 || !e.logged {
			return false
		}
	}
	return true
}
