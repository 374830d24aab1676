package integration_test

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// held is what a process holds.
type held struct {
	descriptors int // 0 where they cannot be counted
	heap        uint64
}

func holds() (h held) {
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.descriptors = len(open)
	}
	runtime.GC()
	runtime.GC() // what finalizers and pools have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.heap = m.HeapAlloc
	return h
}

// A server that goes on keeps nothing of questions that found no answer. It runs
// alone, so that what it counts is its own.
func TestUnansweredQuestionsLeaveNothing(t *testing.T) {
	mcptest.CheckLeaks(t)
	const short = 50 * time.Millisecond
	s := mcpserver.New("desk", "1", &mcpserver.Options{
		Ask: &mcpserver.AskOptions{Wait: short, Expiry: short}, Logger: slog.New(slog.DiscardHandler),
	})
	all := tasks.Enable(s, &tasks.Options{TTL: short, Poll: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	work := func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcpserver.Park(ctx, "held", func(context.Context) ([]byte, error) { return make([]byte, 256<<10), nil }, func([]byte) {})
		if err != nil {
			return "", err
		}
		_, err = mcpserver.Ask[seat](ctx, "seat", "Which seat?")
		return "seated", err
	}
	s.Tool("call", "", work)
	s.Tool("task", "", work, all.AsTask())
	to := serveHTTP(t, s, s.HTTPHandler(), taskWire...)
	users := []elicitor{
		sitDown, nil, holdOn, // the last vanishes
		func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		},
		func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) { // too late
			time.Sleep(2 * short)
			return sitDown(ctx, p)
		},
	}
	round := func() {
		var visits sync.WaitGroup
		for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, kind := range []string{"call", "task"} {
				for _, user := range users {
					visits.Go(func() { visit(t, to, v, kind, user, 3*short) })
				}
			}
		}
		visits.Wait()
		time.Sleep(2 * short) // all has expired
	}
	round()
	before := holds()
	for range 3 {
		round()
	}
	after := holds()
	const slack = 4 << 20 // of 60 questions, which held 15 MiB
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); after = holds() {
		if after.descriptors <= before.descriptors && after.heap <= before.heap+slack {
			break
		}
		time.Sleep(10 * time.Millisecond) // connections are closed by themselves
	}
	if after.descriptors > before.descriptors {
		t.Errorf("got %d open descriptors, want %d as before", after.descriptors, before.descriptors)
	}
	if after.heap > before.heap+slack {
		t.Errorf("got a heap of %d bytes, want about the %d before", after.heap, before.heap)
	}
}

// visit makes a call as somebody who leaves after a while.
func visit(t *testing.T, to string, v mcp.Revision, kind string, user elicitor, stays time.Duration) {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(to), &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)}, ElicitForm: user,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	ctx, leave := context.WithTimeout(t.Context(), stays)
	defer leave()
	if got := ask(ctx, c, kind); got == "seated" && user == nil {
		t.Errorf("got %s without an answer", got)
	}
}
