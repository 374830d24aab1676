package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"iter"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// feed yields the notifications of one extension for one subscription.
type feed iter.Seq2[string, any]

// openFeeds calls the Filters of extensions for the members that the client wants, and adds
// the accepted members to the filter that is acknowledged.
func (s *Server) openFeeds(ctx context.Context, r *Request, wanted jsontext.Value, honoured *mcp.SubscriptionFilter) (feeds []feed, err error) {
	var members map[string]jsontext.Value
	if len(wanted) > 0 {
		if err := json.Unmarshal(wanted, &members); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: notifications: %v", r.method, err)
		}
	}
	answers := make(map[string]any)
	for _, e := range s.extensions.sorted() {
		for member, filter := range e.Filters {
			raw, ok := members[member]
			if !ok {
				continue
			}
			if err := r.RequireExtension(e.ID); err != nil {
				return nil, err
			}
			answer, f, err := filter(ctx, r, raw)
			if err != nil {
				return nil, err
			}
			if answer != nil {
				answers[member] = answer
				feeds = append(feeds, feed(f))
			}
		}
	}
	if len(answers) == 0 {
		return nil, nil
	}
	if honoured.Extra, err = json.Marshal(answers, json.Deterministic(true)); err != nil {
		return nil, fmt.Errorf("%s: acknowledgement: %w", r.method, err)
	}
	return feeds, nil
}

// startFeeds sends the notifications of the feeds, each on its own goroutine. The first
// error cancels open and so ends the subscription. stop cancels open and waits for the
// goroutines.
func (r *Request) startFeeds(open *lazyctx.Context, feeds []feed) (stop func()) {
	var running sync.WaitGroup
	for _, f := range feeds {
		running.Go(func() {
			if err := r.sendFeed(open, f); err != nil {
				open.Cancel(err)
			}
		})
	}
	return func() {
		open.Cancel(nil)
		running.Wait()
	}
}

// sendFeed sends the notifications of one feed.
func (r *Request) sendFeed(ctx context.Context, f feed) (err error) {
	defer usercode.Contain(&err)
	for method, params := range f {
		if err := r.sendSubscribed(ctx, method, params); err != nil {
			return err
		}
	}
	return nil
}
