package mcptest

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// CheckReplay tests that a handler that asks is repeatable. It runs the handler in the
// session era, in which the handler waits for each answer, and in the stateless era, in
// which the handler runs again from the start for each answer. If the outcomes differ, it
// fails the test and reports the first difference: the work of the handler between its
// questions is not repeatable, see mcpserver.Once. It also reports the key of a question
// that changes between two rounds, because the server drops the answer to it. It does not
// compare the order of the questions, because those of AskAll have none.
//
// Each run has a new server from newServer, so the outcome can include what the handler
// changes. The function use sets the answers with Answer, makes the call, and returns its
// outcome or its error.
func CheckReplay(tb testing.TB, newServer func() mcpclient.Server, use func(c *mcpclient.Client) (any, error)) {
	tb.Helper()
	resumed, ok := observe(tb, newServer(), mcp.V20251125, use)
	replayed, alsoOK := observe(tb, newServer(), mcp.V20260728, use)
	if !ok || !alsoOK {
		return // other differences follow from the changed question
	}
	c := comparison{ignored: ignoredInReplay}
	if err := c.difference(resumed, replayed); err != nil {
		tb.Errorf("the handler is not repeatable: replayed from the top it differs from resumed in place: %v", err)
	}
}

// ignoredInReplay are the members that the revisions define differently.
var ignoredInReplay = [][]string{
	pointerTokens("/questions/*/params/elicitationId"),
	pointerTokens("/questions/*/params/_meta"),
	pointerTokens("/outcome/_meta"),
	pointerTokens("/outcome/resultType"),
	pointerTokens("/outcome/ttlMs"),
	pointerTokens("/outcome/cacheScope"),
}

func pointerTokens(p jsontext.Pointer) []string { return slices.Collect(p.Tokens()) }

// observation holds the questions of a handler and its outcome.
type observation struct {
	Questions []jsontext.Value `json:"questions"`
	Outcome   any              `json:"outcome"`
	Error     string           `json:"error,omitzero"`
}

// observe runs use with a client of one revision. It returns false if a question has
// changed between two rounds, which fails the test.
func observe(tb testing.TB, s mcpclient.Server, v mcp.Revision, use func(c *mcpclient.Client) (any, error)) (raw jsontext.Value, ok bool) {
	tb.Helper()
	c := Connect(tb, s, &mcpclient.Options{Revisions: []mcp.Revision{v}})
	c.Use(markCalls)
	outcome, err := use(c)
	o := observation{Outcome: outcome}
	if err != nil {
		o.Outcome, o.Error = nil, string(mcp.CodeOf(err))
	}
	b, _ := answerTables.Load(c)
	if err := b.(*answerTable).changed(); err != nil {
		tb.Errorf("the handler is not repeatable: %v", err)
		return nil, false
	}
	if o.Questions, err = b.(*answerTable).questions(); err != nil {
		tb.Fatalf("encode a question: %v", err)
	}
	if raw, err = json.Marshal(o, json.Deterministic(true)); err != nil {
		tb.Fatalf("encode the outcome: %v", err)
	}
	return raw, true
}

// callKey is the context key of a value that distinguishes calls.
type callKey struct{}

// markCalls is middleware that adds a value under callKey to the context of each call, from
// which the handlers of its questions identify the call.
func markCalls(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (any, error) {
		if !r.Inbound {
			ctx = context.WithValue(ctx, callKey{}, r)
		}
		return next(ctx, r)
	}
}

// changed returns an error that names a question that was asked twice in one call under the
// same key, with different params.
func (t *answerTable) changed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	type name struct {
		call any
		key  string
	}
	first := make(map[name]jsontext.Value)
	for _, q := range t.asked {
		if q.key == "" || q.call == nil {
			continue
		}
		text, err := json.Marshal(q.Params, json.Deterministic(true))
		if err != nil {
			return err
		}
		n := name{q.call, q.key}
		if before, again := first[n]; again && !bytes.Equal(before, text) {
			return fmt.Errorf("question %q changed between two rounds of one call, so its answer is dropped; want values that change in a Once before it:\nfirst %s\nthen  %s", q.key, before, text)
		}
		first[n] = text
	}
	return nil
}

// questions returns the questions that were asked, sorted by their text.
func (t *answerTable) questions() ([]jsontext.Value, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	texts := make([]jsontext.Value, len(t.asked))
	for i, q := range t.asked {
		text, err := json.Marshal(q, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	slices.SortFunc(texts, func(a, b jsontext.Value) int { return bytes.Compare(a, b) })
	return texts, nil
}
