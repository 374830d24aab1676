package exchange

import (
	"bytes"
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// BeginBatch registers the items of a 2025-03-26 batch in order, so that a cancellation
// finds the requests before it. The returned function must be called once, on any goroutine:
// it runs the requests concurrently and returns the array of the replies, or nil if no item
// has one. An invalid item does not affect the others.
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

// array returns the array of the replies that are not nil, or nil if there are none.
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

// CheckBatch decodes a batch of a session, which is nil where there are none. It returns an error
// instead if the revision of the session has no batches, or the batch cannot be decoded. An
// item that cannot be decoded fails the question that it answers.
func CheckBatch(data []byte, session *Session, limits jsonrpc.Limits) ([]jsonrpc.Item, *jsonrpc.DecodeError) {
	if session == nil || session.Agreed() == nil || !session.Agreed().Facts.Batch {
		return nil, jsonrpc.Refuse(data, "a batch: want one message; this session has no batches")
	}
	items, err := jsonrpc.DecodeBatch(data, limits)
	if err != nil {
		return nil, asDecodeError(err)
	}
	for _, item := range items {
		session.FailQuestions(item.Err)
	}
	return items, nil
}

func (c *serving) batch(ctx context.Context, data []byte, from *mcp.Identity) {
	items, bad := CheckBatch(data, c.session, c.Core.Limits())
	if bad != nil {
		c.malformed(ctx, bad)
		return
	}
	run := BeginBatch(items, func(m jsonrpc.Message) Run {
		in := c.inbound(m, from)
		if m.Kind == jsonrpc.Request {
			return c.session.Begin(ctx, c.Core, in)
		}
		c.handleWithoutReply(ctx, in)
		return nil
	})
	c.runConcurrently(func() []byte { return c.limited(jsonrpc.ID{}, "", run()) })
}
