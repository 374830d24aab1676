package streamhttp

import (
	"errors"
	"slices"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// maxQueueBytes bounds the bytes in one queue.
const maxQueueBytes = 4 << 20

// queue is a first-in-first-out queue of messages of a session. Unless they are small, they count
// to the bytes that the server keeps for the owner of the session. The zero queue is empty. It is
// not safe for concurrent use.
type queue struct {
	msgs  [][]byte
	size  int         // of msgs
	large *queuePlace // nil while they are small
}

// queuePlace is the place of a queue among the bytes that are kept for its owner.
type queuePlace struct {
	place  *limit.Place
	size   int // of place
	popped int // size of what the last pop has removed, which is being written
}

// queueHolder has a queue.
type queueHolder interface {
	// evictQueue empties the queue, because another owner needs the room. It is called once for
	// each place, without a lock.
	evictQueue()
}

// Reasons for which a queue does not take a message.
var (
	errStreamFull = errors.New("the client does not read: its queue of messages is full")
	errQueueKept  = errors.New("the server keeps too many bytes for clients, many of them for this one: the message has no room")
)

// push adds a message. It fails with errStreamFull if the queue has no room for it among at most
// max messages, and with errQueueKept if the owner of the session has none. One message fits into
// an empty queue whatever its size.
func (q *queue) push(msg []byte, max int, of *session, by queueHolder) error {
	if len(q.msgs) > 0 && (len(q.msgs) >= max || q.size+len(msg) > maxQueueBytes) {
		return errStreamFull
	}
	if err := q.reserve(len(msg), of, by); err != nil {
		return err
	}
	q.msgs = append(q.msgs, msg)
	q.size += len(msg)
	return nil
}

// reserve makes the place large enough for size more bytes, and a little larger, so that it grows
// seldom.
func (q *queue) reserve(size int, of *session, by queueHolder) error {
	if size += q.size; size <= limit.SmallEntry {
		return nil
	}
	bytes, l := of.kept(), q.large
	if l == nil {
		l = new(queuePlace)
	}
	if size += l.popped; bytes == nil || size <= l.size {
		return nil
	}
	size += min(size/2, writePiece)
	place, err := of.table.grow(l.place, of.Owner, size, by.evictQueue)
	if err != nil {
		return errQueueKept
	}
	l.place, l.size = place, size
	q.large = l
	return nil
}

// pop removes and returns the oldest messages: at most maxCount, and as many as fit into
// the given number of bytes, but at least one if maxCount allows it. They count until the next
// pop or settle.
func (q *queue) pop(maxCount, bytes int) [][]byte {
	n, size := 0, 0
	for n < min(maxCount, len(q.msgs)) && (n == 0 || size+len(q.msgs[n]) <= bytes) {
		size += len(q.msgs[n])
		n++
	}
	popped := slices.Clone(q.msgs[:n])
	q.remove(n, size)
	if q.large != nil {
		q.large.popped = size
	}
	if n == 0 {
		q.settle()
	}
	return popped
}

// setIdle records that nobody reads the queue.
func (q *queue) setIdle() {
	if q.large != nil {
		q.large.place.SetIdle(true)
	}
}

// isWriting reports whether large messages that were popped are being written.
func (q *queue) isWriting() bool { return q.large != nil && q.large.popped > 0 }

// mayFit reports whether there is room for msg once older messages are dropped.
func (q *queue) mayFit(msg []byte) bool {
	return len(msg) <= limit.SmallEntry || q.large != nil && len(msg) <= q.large.size
}

// dropOldest removes the oldest message.
func (q *queue) dropOldest() { q.remove(1, len(q.msgs[0])) }

func (q *queue) remove(n, size int) {
	q.msgs = slices.Delete(q.msgs, 0, n)
	q.size -= size
}

// settle records that what was popped is written. It gives the place back if the queue is empty.
func (q *queue) settle() {
	switch {
	case q.large == nil:
	case len(q.msgs) == 0:
		q.take()
	default:
		q.large.popped = 0
	}
}

// take empties the queue, gives its place back, and returns the messages.
func (q *queue) take() [][]byte {
	msgs := q.msgs
	if q.large != nil {
		q.large.place.Release()
	}
	*q = queue{}
	return msgs
}
