package natsstore

import (
	"errors"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// headerRoom is how many bytes of a message its headers have. A server bounds both together, by
// default at 1 MiB, so that the largest values and events need several messages.
const headerRoom = 1 << 10

// Headers of messages.
const (
	partsHeader  = "Fondaco-Parts" // of the first part: how many there are, if not 1
	partOfHeader = "Fondaco-Write" // of every part: the id of the write

	batchHeader         = "Nats-Batch-Id"
	batchSequenceHeader = "Nats-Batch-Sequence"
	batchCommitHeader   = "Nats-Batch-Commit"
)

// partSize returns how many bytes fit into a message.
func (l *link) partSize() int { return int(l.nc.MaxPayload()) - headerRoom }

// split returns the parts of data, at least one.
func split(data []byte, size int) [][]byte {
	if len(data) == 0 {
		return [][]byte{nil}
	}
	return slices.Collect(slices.Chunk(data, size))
}

// partsOf returns how many parts the value or the event with this first part has.
func partsOf(first *jetstream.RawStreamMsg) int {
	if n, err := strconv.Atoi(first.Header.Get(partsHeader)); err == nil {
		return n
	}
	return 1
}

// errOtherParts is the error of join if a part is missing or belongs to another write.
var errOtherParts = errors.New("parts are missing")

// join returns the data of all parts. get returns a part that is not the first one.
func join(first *jetstream.RawStreamMsg, get func(part string) (*jetstream.RawStreamMsg, error)) ([]byte, error) {
	data := first.Data
	for i := 1; i < partsOf(first); i++ {
		part, err := get(strconv.Itoa(i))
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && part.Header.Get(partOfHeader) != first.Header.Get(partOfHeader) {
			return nil, errOtherParts
		}
		if err != nil {
			return nil, err
		}
		data = append(data, part.Data...)
	}
	return data, nil
}
