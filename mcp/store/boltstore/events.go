//go:build unix || windows

package boltstore

import (
	"bytes"
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// maxStream is the length of the longest name of a stream.
	maxStream = 64
	// eventOverhead is the size that an event counts besides its bytes.
	eventOverhead = 64
)

// eventStore is the mcp.EventStore of a Store.
type eventStore struct{ *Store }

// Events returns the EventStore in the same file. It is closed with the Store.
func (s *Store) Events() mcp.EventStore { return eventStore{s} }

// streamIndex has the streams of the file in the order of their last event.
type streamIndex struct {
	byName map[string]*list.Element
	byAge  *list.List // of *streamSize, the longest untouched first
	total  int64
}

// streamSize is the size of the events of a stream.
type streamSize struct {
	name  string
	bytes int64
	last  time.Time // when the last event was appended
}

// size returns the size of the events of a stream.
func (x *streamIndex) size(name string) int64 {
	if e := x.byName[name]; e != nil {
		return e.Value.(*streamSize).bytes
	}
	return 0
}

// resize sets the size of the events of a stream. A size of 0 removes it.
func (x *streamIndex) resize(name string, size int64) {
	e := x.byName[name]
	if e == nil {
		e = x.byAge.PushBack(&streamSize{name: name, last: time.Now()})
		x.byName[name] = e
	}
	stream := e.Value.(*streamSize)
	x.total += size - stream.bytes
	if stream.bytes = size; size == 0 {
		x.byAge.Remove(e)
		delete(x.byName, name)
	}
}

// touch makes a stream the newest.
func (x *streamIndex) touch(name string) {
	e := x.byName[name]
	e.Value.(*streamSize).last = time.Now()
	x.byAge.MoveToBack(e)
}

// loadStreams reads the sizes of the streams.
func (s *Store) loadStreams(tx *bolt.Tx) error {
	s.streams = streamIndex{byName: make(map[string]*list.Element), byAge: list.New()}
	events := tx.Bucket(bucketEvents)
	return events.ForEachBucket(func(name []byte) error {
		size := int64(0)
		err := events.Bucket(name).ForEach(func(_, msg []byte) error {
			size += sizeOf(msg)
			return nil
		})
		s.streams.resize(string(name), size)
		return err
	})
}

func sizeOf(msg []byte) int64 { return int64(len(msg)) + eventOverhead }

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// Append implements mcp.EventStore.
func (s eventStore) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	if stream == "" || len(stream) > maxStream || n < 1 {
		return fmt.Errorf("boltstore: append: stream %q, event %d; want a name of 1 to %d bytes and a number from 1 on", stream, n, maxStream)
	}
	var evicted []string
	var size int64
	return s.apply(ctx, change{
		operation: "append",
		write: func(tx *bolt.Tx) (err error) {
			if err := s.checkRoom(tx, len(msg)); err != nil {
				return err
			}
			b, err := tx.Bucket(bucketEvents).CreateBucketIfNotExists([]byte(stream))
			if err != nil {
				return err
			}
			size = s.streams.size(stream) + sizeOf(msg)
			if old := b.Get(number(n)); old != nil {
				size -= sizeOf(old)
			}
			if err := b.Put(number(n), msg); err != nil {
				return err
			}
			evicted, size, err = s.makeRoom(tx, stream, size)
			return err
		},
		done: func() {
			for _, name := range evicted {
				s.streams.resize(name, 0)
			}
			s.streams.resize(stream, size)
			if size > 0 {
				s.streams.touch(stream)
			}
		},
	})
}

// makeRoom removes other streams, the one that got no event for longest first, until a stream can
// have the size that it has now. If that does not suffice, it removes the oldest events of the stream.
// It returns the names of the streams that are gone, and the size that is left.
func (s eventStore) makeRoom(tx *bolt.Tx, stream string, size int64) (evicted []string, left int64, err error) {
	others := s.streams.total - s.streams.size(stream)
	for e := s.streams.byAge.Front(); e != nil && others+size > s.options.MaxEventBytes; e = e.Next() {
		oldest := e.Value.(*streamSize)
		if oldest.name == stream {
			continue
		}
		if err := deleteStream(tx, oldest.name); err != nil {
			return nil, 0, err
		}
		evicted = append(evicted, oldest.name)
		others -= oldest.bytes
	}
	left, err = dropOldest(tx, stream, size, s.options.MaxEventBytes-others)
	return evicted, left, err
}

// dropOldest removes the oldest events of a stream until it has at most limit bytes, and returns how
// many it has then.
func dropOldest(tx *bolt.Tx, stream string, size, limit int64) (left int64, err error) {
	b := tx.Bucket(bucketEvents).Bucket([]byte(stream))
	var dropped [][]byte
	c := b.Cursor()
	for k, msg := c.First(); k != nil && size > limit; k, msg = c.Next() {
		dropped, size = append(dropped, bytes.Clone(k)), size-sizeOf(msg)
	}
	if size == 0 {
		return 0, deleteStream(tx, stream)
	}
	for _, k := range dropped {
		if err := b.Delete(k); err != nil {
			return 0, err
		}
	}
	return size, nil
}

func deleteStream(tx *bolt.Tx, name string) error {
	err := tx.Bucket(bucketEvents).DeleteBucket([]byte(name))
	if errors.Is(err, bolterrors.ErrBucketNotFound) {
		return nil
	}
	return err
}

// After implements mcp.EventStore.
func (s eventStore) After(ctx context.Context, stream string, n int64) (msgs [][]byte, err error) {
	if stream == "" || n == math.MaxInt64 {
		return nil, nil
	}
	err = s.read(ctx, "read events", func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketEvents).Bucket([]byte(stream))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, msg := c.Seek(number(max(n, 0) + 1)); k != nil; k, msg = c.Next() {
			msgs = append(msgs, bytes.Clone(msg))
		}
		return nil
	})
	return msgs, err
}

// Trim implements mcp.EventStore.
func (s eventStore) Trim(ctx context.Context, stream string, n int64) error {
	var trimmed [][]byte
	var left int64
	return s.apply(ctx, change{
		operation: "trim",
		needed: func(tx *bolt.Tx) bool {
			if s.streams.byName[stream] == nil {
				return false
			}
			left = s.streams.size(stream)
			c := tx.Bucket(bucketEvents).Bucket([]byte(stream)).Cursor()
			for k, msg := c.First(); k != nil && binary.BigEndian.Uint64(k) <= uint64(max(n, 0)); k, msg = c.Next() {
				trimmed, left = append(trimmed, bytes.Clone(k)), left-sizeOf(msg)
			}
			return len(trimmed) > 0
		},
		write: func(tx *bolt.Tx) error {
			if left == 0 {
				return deleteStream(tx, stream)
			}
			b := tx.Bucket(bucketEvents).Bucket([]byte(stream))
			for _, k := range trimmed {
				if err := b.Delete(k); err != nil {
					return err
				}
			}
			return nil
		},
		done: func() { s.streams.resize(stream, left) },
	})
}

// sweepStreams removes the streams to which nothing was appended for long.
func (s *Store) sweepStreams(ctx context.Context) error {
	var expired []string
	return s.apply(ctx, change{
		operation: "remove old events",
		needed: func(*bolt.Tx) bool {
			for e := s.streams.byAge.Front(); e != nil && time.Since(e.Value.(*streamSize).last) >= s.options.MaxEventAge; e = e.Next() {
				expired = append(expired, e.Value.(*streamSize).name)
			}
			return len(expired) > 0
		},
		write: func(tx *bolt.Tx) error {
			for _, name := range expired {
				if err := deleteStream(tx, name); err != nil {
					return err
				}
			}
			return nil
		},
		done: func() {
			for _, name := range expired {
				s.streams.resize(name, 0)
			}
		},
	})
}
