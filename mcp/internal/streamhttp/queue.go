package streamhttp

import "slices"

// maxQueueBytes bounds the bytes in one queue.
const maxQueueBytes = 4 << 20

// queue is a first-in-first-out queue of messages. The zero queue is empty. It is
// not safe for concurrent use.
type queue struct {
	msgs [][]byte
	size int
}

// fits reports whether msg has room among at most max messages. One message
// fits into an empty queue whatever its size.
func (q *queue) fits(msg []byte, max int) bool {
	return len(q.msgs) == 0 || len(q.msgs) < max && q.size+len(msg) <= maxQueueBytes
}

func (q *queue) push(msg []byte) {
	q.msgs = append(q.msgs, msg)
	q.size += len(msg)
}

// pop removes and returns the oldest messages: at most maxCount, and as many as fit into
// the given number of bytes, but at least one if maxCount allows it.
func (q *queue) pop(maxCount, bytes int) [][]byte {
	n, size := 0, 0
	for n < min(maxCount, len(q.msgs)) && (n == 0 || size+len(q.msgs[n]) <= bytes) {
		size += len(q.msgs[n])
		n++
	}
	popped := slices.Clone(q.msgs[:n])
	q.msgs = slices.Delete(q.msgs, 0, n)
	q.size -= size
	return popped
}
