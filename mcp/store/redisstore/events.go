package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// maxStream is the length of the longest name of a stream.
const maxStream = 64

// maxEvent is the largest number of an event: scripts count exactly up to it.
const maxEvent = 1 << 53

// events is the mcp.EventStore of a Store.
type events struct{ *Store }

// Append implements mcp.EventStore.
func (e events) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	if err := checkStream(stream); err != nil {
		return fmt.Errorf("redisstore: append: %w", err)
	}
	if n < 1 || n > maxEvent {
		return fmt.Errorf("redisstore: append: event %d: want numbers from 1 on", n)
	}
	_, err := call(ctx, e.Store, "append", func(ctx context.Context) (struct{}, error) {
		age := milliseconds(e.options.MaxEventAge)
		stored, err := e.run(ctx, appendScript, e.accountNames(stream), stream, n, msg, e.options.MaxEventBytes, age).Bool()
		if err == nil && !stored {
			err = fmt.Errorf("event %d: the stream has another event with this number or a later one: want numbers in order", n)
		}
		return struct{}{}, err
	})
	return err
}

// After implements mcp.EventStore.
func (e events) After(ctx context.Context, stream string, n int64) ([][]byte, error) {
	if err := checkStream(stream); err != nil {
		return nil, fmt.Errorf("redisstore: after: %w", err)
	}
	return call(ctx, e.Store, "after", func(ctx context.Context) ([][]byte, error) {
		stored, err := e.run(ctx, afterScript, []string{e.streamName(stream)}, n).StringSlice()
		if err != nil {
			return nil, err
		}
		msgs := make([][]byte, len(stored))
		for i, msg := range stored {
			msgs[i] = []byte(msg)
		}
		return msgs, nil
	})
}

// Trim implements mcp.EventStore.
func (e events) Trim(ctx context.Context, stream string, n int64) error {
	if err := checkStream(stream); err != nil {
		return fmt.Errorf("redisstore: trim: %w", err)
	}
	_, err := call(ctx, e.Store, "trim", func(ctx context.Context) (struct{}, error) {
		var until any = n
		if n == math.MaxInt64 {
			until = "all"
		}
		return struct{}{}, e.run(ctx, trimScript, e.accountNames(stream), stream, until).Err()
	})
	return err
}

func (e events) streamName(stream string) string { return e.prefix + "events:" + stream }

// accountNames returns the keys of the scripts that change a stream.
func (e events) accountNames(stream string) []string {
	return []string{e.streamName(stream), e.prefix + "event-times", e.prefix + "event-bytes"}
}

func checkStream(stream string) error {
	if len(stream) > maxStream {
		return errors.New("a name of a stream of more than 64 bytes")
	}
	return checkKey(stream)
}
