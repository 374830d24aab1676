package streamhttp

import "slices"

// maxQueued bounds the bytes in one queue.
const maxQueued = 4 << 20

// queue holds messages that wait, oldest first. The zero queue is empty. It is
// not safe for concurrent use.
type queue struct {
	msgs [][]byte
	size int
}

// fits reports whether msg has room among at most max messages. One message
// fits into an empty queue whatever its size.
func (q *queue) fits(msg []byte, max int) bool {
	return len(q.msgs) == 0 || len(q.msgs) < max && q.size+len(msg) <= maxQueued
}

func (q *queue) push(msg []byte) {
	q.msgs = append(q.msgs, msg)
	q.size += len(msg)
}

// pop removes the oldest messages, at most so many and up to about the given
// number of bytes, and at least one if there is any.
func (q *queue) pop(most, bytes int) [][]byte {
	n, size := 0, 0
	for n < min(most, len(q.msgs)) && (n == 0 || size+len(q.msgs[n]) <= bytes) {
		size += len(q.msgs[n])
		n++
	}
	popped := slices.Clone(q.msgs[:n])
	q.msgs = slices.Delete(q.msgs, 0, n)
	q.size -= size
	return popped
}
