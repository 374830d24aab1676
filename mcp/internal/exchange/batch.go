package exchange

import (
	"bytes"
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Batch does the items of a 2025-03-26 batch and returns the array of their
// replies, or nil when none of them has one. They begin in the order in which they
// stand, so that a notification finds the requests before it; what a request has
// left to do then runs beside the others. One bad item does not spoil the others.
//
// Spec: 2025-03-26 basic#batching
func Batch(items []jsonrpc.Item, begin func(jsonrpc.Message) Run) []byte {
	replies := make([][]byte, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		switch {
		case item.Err != nil:
			replies[i] = Malformed(item.Err).Body
		case item.Message.Method == mcp.MethodInitialize:
			replies[i] = dialect.Refuse(item.Message.ID, mcp.Errorf(mcp.CodeInvalidRequest, "initialize: not in a batch")).Body
		default:
			if run := begin(item.Message); run != nil {
				wg.Go(func() { replies[i] = reply(run) })
			}
		}
	}
	wg.Wait()
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
	c.spawn(func() []byte {
		return Batch(items, func(m jsonrpc.Message) Run {
			in := c.inbound(m, from)
			if m.Kind == jsonrpc.Request {
				return c.session.Begin(ctx, c.Core, in)
			}
			c.other(ctx, in)
			return nil
		})
	})
}
