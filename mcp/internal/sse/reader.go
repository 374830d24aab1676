package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oversize"
)

// DefaultLimit is the default limit of a [Reader]: 4 MiB.
const DefaultLimit = 4 << 20

// ErrTooLong is returned by [Reader.Next] for a line or the data of an event
// that is longer than skipFactor times the limit.
var ErrTooLong = errors.New("read event: longer than the limit")

// skipFactor times the limit is how much of an event is skipped before the stream fails.
const skipFactor = 4

// OversizedError is returned by [Reader.Next] for an event whose data is longer than the
// limit. The stream continues after it.
type OversizedError struct {
	ID string // as in [Event]
	// Head and Tail are the first and the last bytes of the data, up to 4 KiB of each.
	Head, Tail []byte
}

func (e *OversizedError) Error() string { return ErrTooLong.Error() }

// Reader reads events from a stream. It holds at most one line and the data of
// one event, and both grow only with bytes that have arrived. It is not safe
// for concurrent use.
type Reader struct {
	in    *bufio.Reader
	limit int
	err   error // the first error, which every later Next returns

	line      []byte            // the line being read
	oversized *oversize.Message // the data of the event, if it is too long
	started   bool              // the first line has been read
	swallowLF bool              // the last line ended in CR, whose LF may follow
	lastID    string
}

// NewReader returns a Reader for the stream in. The limit is the maximum size of the data
// of one event, in bytes, and so of a line without its field name; zero means
// [DefaultLimit].
func NewReader(in io.Reader, limit int) *Reader {
	if limit == 0 {
		limit = DefaultLimit
	}
	return &Reader{in: bufio.NewReader(in), limit: limit}
}

// Next returns the next event as soon as the blank line at its end has arrived.
// The caller owns Data. Comments, unknown fields and events without any field are
// skipped; a retry of zero is returned as one millisecond.
//
// The error is io.EOF when the stream ended (an incomplete event is dropped), an
// *OversizedError, ErrTooLong, or that of the underlying reader. Every error but an
// *OversizedError is final.
func (r *Reader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	ev, err := r.next()
	if err != nil {
		r.err = err
		return Event{}, err
	}
	if long := r.oversized; long != nil {
		r.oversized = nil
		return Event{}, &OversizedError{ID: ev.ID, Head: long.Head, Tail: long.Tail}
	}
	return ev, nil
}

func (r *Reader) next() (Event, error) {
	ev := Event{ID: r.lastID}
	for {
		line, skipped, err := r.readLine(&ev)
		if err != nil {
			return Event{}, err
		}
		if skipped {
			continue
		}
		if len(line) > 0 {
			if err := r.setField(&ev, line); err != nil {
				return Event{}, err
			}
			continue
		}
		if ev.Data == nil {
			ev.Name = "" // The name of an event without data has no effect.
		}
		if r.oversized != nil || ev.Data != nil || ev.Retry != 0 || ev.ID != r.lastID {
			r.lastID = ev.ID
			return ev, nil
		}
	}
}

// setField sets the field of ev that the line names.
func (r *Reader) setField(ev *Event, line []byte) error {
	field, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(field) {
	case "event":
		ev.Name = string(value)
	case "data":
		return r.addData(ev, value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			ev.ID = string(value)
		}
	case "retry":
		if retry, ok := parseRetry(value); ok {
			ev.Retry = retry
		}
	}
	return nil // A comment is a field without a name.
}

// addData adds one line to the data of ev.
func (r *Reader) addData(ev *Event, line []byte) error {
	if r.oversized != nil {
		return r.skip(ev, append([]byte{'\n'}, line...))
	}
	if ev.Data == nil {
		ev.Data = make([]byte, 0, len(line)) // Not nil, even for an empty line.
	} else {
		ev.Data = append(ev.Data, '\n')
	}
	if len(ev.Data)+len(line) > r.limit {
		return r.skip(ev, line)
	}
	ev.Data = append(ev.Data, line...)
	return nil
}

// skip adds a part of the data of an event that is too long. The event has no other data.
func (r *Reader) skip(ev *Event, part []byte) error {
	if r.oversized == nil {
		r.oversized = new(oversize.Message)
		r.oversized.Add(ev.Data)
		ev.Data = nil
	}
	r.oversized.Add(part)
	if r.oversized.Size > skipFactor*r.limit {
		return ErrTooLong
	}
	return nil
}

// parseRetry reads a number of milliseconds, which must consist of ASCII digits. A number
// that exceeds the longest Duration becomes that Duration.
func parseRetry(value []byte) (time.Duration, bool) {
	if len(value) == 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	const longest = math.MaxInt64 / int64(time.Millisecond)
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n > longest {
		n = longest
	}
	return time.Duration(max(n, 1)) * time.Millisecond, true
}

// readLine returns the next line without its end, valid until the next call. It skips a line
// that is too long to belong to an event within the limit.
func (r *Reader) readLine(ev *Event) (line []byte, skipped bool, err error) {
	const maxKept = 64 << 10
	if cap(r.line) > maxKept {
		r.line = nil
	}
	r.line = r.line[:0]
	for {
		chunk, err := r.chunk()
		if err != nil {
			return nil, false, err
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			r.line = append(r.line, chunk...)
			r.consume(len(chunk))
		} else {
			r.line = append(r.line, chunk[:end]...)
			r.swallowLF = chunk[end] == '\r'
			r.consume(end + 1)
		}
		if skipped || len(r.line) > r.limit+len("data: ") {
			if err := r.skipLine(ev, skipped); err != nil {
				return nil, false, err
			}
			skipped = true
		}
		switch {
		case end >= 0 && skipped:
			return nil, true, nil
		case end >= 0:
			return r.withoutMark(r.line), false, nil
		}
	}
}

// skipLine skips what was read of a line that is too long. continued says that its beginning,
// with the name of the field, was skipped before.
func (r *Reader) skipLine(ev *Event, continued bool) error {
	part := r.line
	if !continued {
		part = bytes.TrimPrefix(bytes.TrimPrefix(part, []byte("data:")), []byte{' '})
	}
	r.line = r.line[:0]
	return r.skip(ev, part)
}

// chunk returns the bytes that have arrived, at least one, without consuming them. It
// drops the LF of a CRLF here and not immediately after its CR, because waiting for it
// would delay a complete event.
func (r *Reader) chunk() ([]byte, error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	chunk, _ := r.in.Peek(r.in.Buffered())
	if r.swallowLF && chunk[0] == '\n' {
		r.swallowLF = false
		r.consume(1)
		return r.chunk()
	}
	r.swallowLF = false
	return chunk, nil
}

// consume drops n bytes of the last chunk, which cannot fail.
func (r *Reader) consume(n int) { _, _ = r.in.Discard(n) }

// withoutMark removes the byte order mark from the beginning of the first line.
func (r *Reader) withoutMark(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}
