package mcpserver_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var unanswered = flag.Int("unanswered", 2_000, "questions of one owner without an answer; make hostile has 100,000")

// TestUnansweredQuestionsOfOneOwnerDelayNoOtherOwner is about one principal who has that many
// questions, with 1,000 on each of its connections, and answers none. The calls of another
// client are not refused and do not wait, and the first question can still be answered.
func TestUnansweredQuestionsOfOneOwnerDelayNoOtherOwner(t *testing.T) {
	claim.Shows(t, "B-12")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := patient(&mcpserver.Options{Ask: &mcpserver.AskOptions{MaxQuestions: *unanswered, OwnerQuestions: *unanswered}})
		ada := &mcp.Identity{Principal: mcp.Principal{Issuer: "https://id.example.com", Subject: "ada"}}
		const each, ask = 1000, `{"name":"ask"}`
		var asked *wire // the first connection
		var first message
		for begun := 0; begun < *unanswered; begun += each {
			w := attachAs(t, srv, ada)
			w.Initialize(r, canAll)
			for range each {
				w.Send("tools/call", ask)
			}
			question := w.Receive()
			if asked == nil {
				asked, first = w, question
			}
			for range each - 1 {
				if m := w.Receive(); m.Error != nil {
					t.Fatalf("got %s, want a question", m.Raw)
				}
			}
		}
		began := time.Now()
		for range 100 {
			other := dialAs(t, srv, r, canAll)
			other.Must("tools/list", "")
			other.Must("tools/call", `{"name":"now"}`)
		}
		var done message
		if isModern(r) {
			done = asked.Call("tools/call", retry(t, ask, first.Result, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		} else {
			asked.Write(`{"jsonrpc":"2.0","id":` + string(first.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
			done = asked.Receive()
		}
		if got := at(t, done.Result, "/content/0/text"); got != `"red"` {
			t.Errorf("the first question: got %s after its answer, want the call done", done.Raw)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("others waited for %v", took)
		}
	})
}

// attachAs connects a client of a principal.
func attachAs(t *testing.T, srv *mcpserver.Server, who *mcp.Identity) *wire {
	t.Helper()
	ours, theirs := memory.Pair()
	served := make(chan error, 1)
	go func() { served <- srv.ServeConn(context.Background(), theirs, mcpserver.ConnOptions{Identity: who}) }()
	t.Cleanup(func() {
		_ = ours.Close()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &wire{Client: wiretest.Client{T: t, Conn: ours}}
}
