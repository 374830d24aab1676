package exchange

import (
	"bytes"
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// BeginBatch begins the items of a 2025-03-26 batch, in the order in which they
// stand, so that a notification or a cancellation finds the requests before it. It
// returns the rest of the work, to be called once on any goroutine: that runs the
// requests beside each other and returns the array of the replies, or nil when no
// item has one. An item that is not valid does not affect the others.
//
// Spec: 2025-03-26 basic#batching
func BeginBatch(items []jsonrpc.Item, begin func(jsonrpc.Message) Run) (run func() []byte) {
	replies := make([][]byte, len(items))
	runs := make(map[int]Run)
	for i, item := range items {
		switch {
		case item.Err != nil:
			replies[i] = Malformed(item.Err).Body
		case item.Message.Method == mcp.MethodInitialize:
			replies[i] = dialect.Refuse(item.Message.ID, mcp.Errorf(mcp.CodeInvalidRequest, "initialize: not in a batch")).Body
		default:
			if run := begin(item.Message); run != nil {
				runs[i] = run
			}
		}
	}
	return func() []byte {
		var wg sync.WaitGroup
		for i, run := range runs {
			wg.Go(func() { replies[i] = reply(run) })
		}
		wg.Wait()
		return array(replies)
	}
}

// array returns the array of the replies that there are, or nil when there are none.
func array(replies [][]byte) []byte {
	replies = compact(replies)
	if len(replies) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(replies, []byte{','})...), ']')
}

func compact(replies [][]byte) [][]byte {
	kept := replies[:0]
	for _, r := range replies {
		if r != nil {
			kept = append(kept, r)
		}
	}
	return kept
}

// CheckBatch decodes an array of messages where the session speaks a revision
// that has batches, and says so where it does not.
func CheckBatch(data []byte, agreed *dialect.Session, limits jsonrpc.Limits) ([]jsonrpc.Item, *dialect.Reply) {
	if agreed == nil || !agreed.Facts.Batch {
		r := dialect.Refuse(jsonrpc.ID{}, mcp.Errorf(mcp.CodeInvalidRequest, "a batch: want one message; this session has no batches"))
		return nil, &r
	}
	items, err := jsonrpc.DecodeBatch(data, limits)
	if err != nil {
		r := Malformed(err)
		return nil, &r
	}
	return items, nil
}

func (c *serving) batch(ctx context.Context, data []byte, from *mcp.Identity) {
	items, refusal := CheckBatch(data, c.session.Agreed(), c.Core.Limits())
	if refusal != nil {
		c.write(ctx, refusal.Body)
		return
	}
	c.runConcurrently(BeginBatch(items, func(m jsonrpc.Message) Run {
		in := c.inbound(m, from)
		if m.Kind == jsonrpc.Request {
			return c.session.Begin(ctx, c.Core, in)
		}
		c.handleWithoutReply(ctx, in)
		return nil
	}))
}
