package natsstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxReads is how many events After reads at a time.
const maxReads = 16

// events is the EventStore. Each event has a subject with its number, so that the attempt to
// append it again replaces it.
type events struct {
	link   *link
	space  namespace
	stream jetstream.Stream
	js     jetstream.JetStream
}

// Append implements mcp.EventStore. The first part is written last: an event is there when its
// first part is.
func (e *events) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	err := checkStream(stream)
	id := rand.Text()
	parts := split(msg, e.link.partSize())
	for i := len(parts) - 1; i >= 0 && err == nil; i-- {
		m := nats.NewMsg(e.space.event(stream, n, strconv.Itoa(i)))
		m.Data = parts[i]
		if len(parts) > 1 {
			m.Header.Set(partOfHeader, id)
			m.Header.Set(partsHeader, strconv.Itoa(len(parts)))
		}
		err = e.link.call(ctx, func(ctx context.Context) error {
			_, err := e.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("natsstore: append event %d of %q: %w", n, stream, err)
	}
	return nil
}

// After implements mcp.EventStore.
func (e *events) After(ctx context.Context, stream string, n int64) ([][]byte, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	msgs, err := e.after(ctx, stream, n)
	if err != nil {
		return nil, fmt.Errorf("natsstore: events of %q after %d: %w", stream, n, err)
	}
	return msgs, nil
}

func (e *events) after(ctx context.Context, stream string, n int64) ([][]byte, error) {
	numbers, err := e.numbers(ctx, stream)
	if err != nil {
		return nil, err
	}
	numbers = slices.DeleteFunc(numbers, func(number int64) bool { return number <= n })
	msgs, errs := make([][]byte, len(numbers)), make([]error, len(numbers))
	free := make(chan struct{}, maxReads)
	var all sync.WaitGroup
	for i, number := range numbers {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			msgs[i], errs[i] = e.event(ctx, stream, number)
		})
	}
	all.Wait()
	// An event that was removed in the meantime is older than those that are needed.
	isGone := func(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }
	for i := len(errs) - 1; i >= 0; i-- {
		if isGone(errs[i]) {
			msgs, errs = msgs[i+1:], errs[i+1:]
			break
		}
	}
	return msgs, errors.Join(errs...)
}

// numbers returns the numbers of the stored events of a stream, in order.
func (e *events) numbers(ctx context.Context, stream string) (numbers []int64, err error) {
	if err := checkStream(stream); err != nil {
		return nil, err
	}
	var info *jetstream.StreamInfo
	err = e.link.call(ctx, func(ctx context.Context) error {
		info, err = e.stream.Info(ctx, jetstream.WithSubjectFilter(e.space.firstParts(stream)))
		return err
	})
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		if number, ok := eventNumber(subject); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// event returns an event, or ErrMsgNotFound if it was removed.
func (e *events) event(ctx context.Context, stream string, number int64) ([]byte, error) {
	get := func(part string) (*jetstream.RawStreamMsg, error) {
		return e.link.last(ctx, e.stream, e.space.event(stream, number, part))
	}
	first, err := get("0")
	if err != nil {
		return nil, err
	}
	msg, err := join(first, get)
	if errors.Is(err, errOtherParts) {
		return nil, jetstream.ErrMsgNotFound
	}
	return msg, err
}

// Trim implements mcp.EventStore.
func (e *events) Trim(ctx context.Context, stream string, n int64) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	if err := e.trim(ctx, stream, n); err != nil {
		return fmt.Errorf("natsstore: trim events of %q: %w", stream, err)
	}
	return nil
}

func (e *events) trim(ctx context.Context, stream string, n int64) error {
	if err := checkStream(stream); err != nil {
		return err
	}
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(e.space.eventsOf(stream))}
	if n != math.MaxInt64 {
		last, err := e.sequenceOfLast(ctx, stream, n)
		if err != nil || last == 0 {
			return err
		}
		options = append(options, jetstream.WithPurgeSequence(last+1))
	}
	return e.link.call(ctx, func(ctx context.Context) error { return e.stream.Purge(ctx, options...) })
}

// sequenceOfLast returns where the stream has its last event up to number n, or 0 if it has none.
func (e *events) sequenceOfLast(ctx context.Context, stream string, n int64) (sequence uint64, err error) {
	numbers, err := e.numbers(ctx, stream)
	numbers = slices.DeleteFunc(numbers, func(number int64) bool { return number > n })
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	last, err := e.link.last(ctx, e.stream, e.space.event(stream, numbers[len(numbers)-1], "0"))
	if errors.Is(err, jetstream.ErrMsgNotFound) { // removed in the meantime, with all before it
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return last.Sequence, nil
}
