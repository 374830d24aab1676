package natsstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// anything is what write expects of the present value when it does not matter.
const anything = -1

// Get implements mcp.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	e, err := s.read(ctx, key)
	if err != nil {
		return nil, false, fmt.Errorf("natsstore: get %q: %w", key, err)
	}
	return e.value, e.found(), nil
}

// Put implements mcp.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if _, err := s.write(ctx, key, value, ttl, anything); err != nil {
		return fmt.Errorf("natsstore: put %q: %w", key, err)
	}
	return nil
}

// Create implements mcp.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	if created, err = s.write(ctx, key, value, ttl, 0); err != nil {
		return false, fmt.Errorf("natsstore: create %q: %w", key, err)
	}
	return created, nil
}

// Swap implements mcp.Store. It writes if the value is still the message that it has read.
// Otherwise it reads again, because the new message may have the old value.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	for !swapped && err == nil {
		var e entry
		if e, err = s.read(ctx, key); err != nil || !e.found() || !bytes.Equal(e.value, old) {
			break
		}
		swapped, err = s.write(ctx, key, value, ttl, int64(e.sequence))
	}
	if err != nil {
		return false, fmt.Errorf("natsstore: swap %q: %w", key, err)
	}
	return swapped, nil
}

// Delete implements mcp.Store. It deletes messages up to the one that it has read, so that an
// attempt which is repeated does not delete a later value.
func (s *Store) Delete(ctx context.Context, key string) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	e, err := s.read(ctx, key)
	if err == nil && e.found() {
		err = s.link.call(ctx, func(ctx context.Context) error {
			return s.values.Purge(ctx, jetstream.WithPurgeSubject(s.space.value("*", key)), jetstream.WithPurgeSequence(e.sequence+1))
		})
	}
	if err != nil {
		return fmt.Errorf("natsstore: delete %q: %w", key, err)
	}
	return nil
}

// List implements mcp.Store. The server sends the names of all keys that begin with prefix up to
// its last dot, slash or colon, whatever the limit is.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	var info *jetstream.StreamInfo
	err = s.link.call(ctx, func(ctx context.Context) error {
		info, err = s.values.Info(ctx, jetstream.WithSubjectFilter(s.space.valuesBelow(prefix)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("natsstore: list %q: %w", prefix, err)
	}
	for subject := range info.State.Subjects {
		if key, ok := s.space.key(subject); ok && strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Clip(keys[:min(len(keys), max(limit, 0))]), nil
}

// entry is the value of a key, as the message with the sequence number has it.
type entry struct {
	value    []byte
	sequence uint64 // 0: there is none
}

func (e entry) found() bool { return e.sequence != 0 }

// read returns the entry of a key, with all its parts. When a part belongs to another write, the
// value has been replaced in the meantime and is read again.
func (s *Store) read(ctx context.Context, key string) (entry, error) {
	if err := checkKey(key); err != nil {
		return entry{}, err
	}
	for last := uint64(0); ; {
		first, err := s.link.last(ctx, s.values, s.space.value("0", key))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return entry{}, nil
		}
		if err != nil {
			return entry{}, err
		}
		if first.Sequence == last {
			return entry{}, errOtherParts
		}
		whole, err := join(first, func(part string) (*jetstream.RawStreamMsg, error) {
			return s.link.last(ctx, s.values, s.space.value(part, key))
		})
		if !errors.Is(err, errOtherParts) {
			return entry{value: whole, sequence: first.Sequence}, err
		}
		last = first.Sequence
	}
}

// write writes a value if the last message of its key has the expected sequence number, where 0
// stands for no message. Otherwise it reports false.
func (s *Store) write(ctx context.Context, key string, value []byte, ttl time.Duration, expected int64) (written bool, err error) {
	if err := checkValue(key, value, ttl); err != nil {
		return false, err
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	return s.store(ctx, s.newWrite(key, value, ttl, expected))
}

// store sends a write until it has an answer.
func (s *Store) store(ctx context.Context, w *valueWrite) (written bool, err error) {
	err = s.link.call(ctx, func(ctx context.Context) error { return w.send(ctx, s) })
	switch {
	case hasCode(err, codeBatchHasDuplicate): // an earlier attempt was stored
		return true, nil
	case hasCode(err, codeWrongLastSequence, codeWrongSequencePending) && w.server != "":
		return s.wasStored(ctx, w)
	case hasCode(err, codeWrongSequencePending):
		return s.lostToPending(ctx, w)
	case hasCode(err, codeWrongLastSequence):
		return false, nil
	}
	return err == nil, err
}

// wasStored reports whether an earlier attempt to write was stored, which had no answer. A server
// compares the sequence number before it looks for a duplicate, so the last attempt does not
// tell. It asks by a message that has the id of the write and cannot be stored.
func (s *Store) wasStored(ctx context.Context, w *valueWrite) (stored bool, err error) {
	err = s.link.call(ctx, func(ctx context.Context) error {
		m := nats.NewMsg(s.space.value("0", w.key))
		m.Header.Set(jetstream.MsgIDHeader, w.id)
		m.Header.Set(jetstream.ExpectedLastMsgIDHeader, "none")
		ack, err := s.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		stored = err == nil && ack.Duplicate
		return err
	})
	switch {
	case !hasCode(err, codeWrongLastID):
		return stored, err
	case w.uncertain:
		return false, errUncertain
	}
	return false, nil
}

// lostToPending returns the result of a write that was refused because of another one that the
// cluster has not decided yet. It is lost if the other one is stored.
func (s *Store) lostToPending(ctx context.Context, w *valueWrite) (bool, error) {
	e, err := s.read(ctx, w.key)
	if err == nil && int64(e.sequence) == w.expected {
		return false, errors.New("another write of the key is not decided; want the call again")
	}
	return false, err
}

func checkValue(key string, value []byte, ttl time.Duration) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) > maxValue {
		return fmt.Errorf("value of %d bytes: want at most %d", len(value), maxValue)
	}
	if ttl < 0 {
		return fmt.Errorf("time to live %v: want 0 or more", ttl)
	}
	return nil
}

// valueWrite is the messages of one write. A value that does not fit into one message is a batch,
// which the server stores as a whole or not at all. The first part is the last message of the
// batch, because only that one has an answer.
type valueWrite struct {
	key      string
	id       string
	expected int64
	messages []*nats.Msg
	server   string // the process that got the last attempt without an answer, or empty
	// uncertain means that an attempt may have been stored and replaced since. A stream knows
	// its latest writes, but after a restart only those whose messages are still there.
	uncertain bool
}

var errUncertain = errors.New("the server was lost during the write, which may have happened before another one")

func (s *Store) newWrite(key string, value []byte, ttl time.Duration, expected int64) *valueWrite {
	parts := split(value, s.link.partSize())
	w := &valueWrite{key: key, id: rand.Text(), expected: expected}
	for i := len(parts) - 1; i >= 0; i-- {
		m := nats.NewMsg(s.space.value(strconv.Itoa(i), key))
		m.Data = parts[i]
		m.Header.Set(partOfHeader, w.id)
		if ttl > 0 {
			m.Header.Set(jetstream.MsgTTLHeader, ttlOfPart(ttl, i))
		}
		w.messages = append(w.messages, m)
	}
	first := w.messages[len(parts)-1]
	first.Header.Set(jetstream.MsgIDHeader, w.id) // so that it is stored once if it is sent again
	if len(parts) > 1 {
		first.Header.Set(partsHeader, strconv.Itoa(len(parts)))
	}
	if expected != anything {
		first.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatInt(expected, 10))
	}
	return w
}

// ttlOfPart returns the header for the expiry of a part. The first part expires first, so that no
// reader misses the others.
func ttlOfPart(ttl time.Duration, part int) string {
	seconds := int64((ttl-1)/time.Second) + 1
	if part > 0 {
		seconds += 2 * int64(callTimeout/time.Second)
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

// send is one attempt to write.
func (w *valueWrite) send(ctx context.Context, s *Store) error {
	server := s.link.nc.ConnectedServerId()
	if w.server != "" && w.server != server {
		w.uncertain = true
	}
	err := w.publish(ctx, s)
	_, answered := errors.AsType[*jetstream.APIError](err)
	if err != nil && !answered && !errors.Is(err, jetstream.ErrNoStreamResponse) {
		w.server = server
		w.uncertain = w.uncertain || errors.Is(ctx.Err(), context.DeadlineExceeded)
	}
	return err
}

// publish sends the messages, and waits for the answer. Each batch has an id of its own.
func (w *valueWrite) publish(ctx context.Context, s *Store) error {
	last := len(w.messages) - 1
	if last > 0 {
		id := rand.Text()
		for i, m := range w.messages {
			m.Header.Set(batchHeader, id)
			m.Header.Set(batchSequenceHeader, strconv.Itoa(i+1))
		}
		w.messages[last].Header.Set(batchCommitHeader, "1")
	}
	for _, m := range w.messages[:last] {
		if err := s.link.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	_, err := s.js.PublishMsg(ctx, w.messages[last], jetstream.WithRetryAttempts(0))
	return err
}
