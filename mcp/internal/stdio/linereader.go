package stdio

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/oversize"
)

const (
	firstChunk = 4 << 10
	chunkSize  = 64 << 10 // also the most that is kept between messages

	// skipFactor times the limit is how much of an overlong line is skipped
	// before the connection fails.
	skipFactor = 4
)

// lineReader splits a stream into lines. It allocates memory only for bytes
// that have arrived: it keeps a line that is longer than a chunk in parts, and
// joins them in one allocation when the line ends within the limit.
type lineReader struct {
	src     source
	max     int
	setting string // names the option for max

	chunk []byte // chunk[r:w] is unread
	r, w  int

	parts [][]byte // the beginning of an unfinished line
	size  int      // of parts

	overlong *oversize.Message // the line is too long, and the rest of it is skipped; nil otherwise
	err      error             // why there are no more lines
}

// next returns the next line that is not blank, without its end. The caller
// owns it.
func (l *lineReader) next(ctx context.Context) ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.chunk[l.r:l.w], '\n'); i >= 0 {
			line, err := l.take(i)
			if err != nil || !blank(line) {
				return line, err
			}
			continue
		}
		if l.err != nil {
			return l.last()
		}
		if l.err = l.checkLimit(); l.err != nil {
			continue
		}
		if err := l.fill(ctx); err != nil {
			return nil, err
		}
	}
}

// take returns the current line, which ends at chunk[r+i], a newline.
func (l *lineReader) take(i int) ([]byte, error) {
	end := l.chunk[l.r : l.r+i]
	l.r += i + 1
	if l.overlong == nil {
		line := l.join(end)
		if len(line) <= l.max {
			return line, nil
		}
		l.overlong, end = new(oversize.Message), line
	}
	l.overlong.Add(end)
	return nil, l.tooLong()
}

// tooLong ends the overlong line and returns its error.
func (l *lineReader) tooLong() error {
	line := l.overlong
	l.overlong = nil
	reason := fmt.Sprintf("message longer than %d bytes", l.max)
	if l.setting != "" {
		reason += ", the limit of the client (in Go: " + l.setting + ")"
	}
	return &mcp.FrameError{Reason: reason, Head: line.Head, Tail: line.Tail}
}

// join joins the parts and the end of a line and drops a trailing CR.
func (l *lineReader) join(end []byte) []byte {
	line := bytes.Clone(end)
	if len(l.parts) > 0 {
		line = bytes.Join(append(l.parts, end), nil)
		l.parts, l.size = nil, 0
	}
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// last returns the bytes after the last newline, then the error that ended the
// stream.
func (l *lineReader) last() ([]byte, error) {
	end := l.chunk[l.r:l.w]
	l.r = l.w
	if l.err == io.EOF && l.overlong == nil {
		if line := l.join(end); !blank(line) && len(line) <= l.max {
			return line, nil
		}
	}
	return nil, l.err
}

// checkLimit drops a line that exceeds the limit, except for its ends, and returns an error
// if it exceeds skipFactor times the limit.
func (l *lineReader) checkLimit() error {
	unread := l.w - l.r
	if l.overlong == nil && l.size+unread <= l.max+len("\r") {
		return nil
	}
	if l.overlong == nil {
		l.overlong = new(oversize.Message)
	}
	for _, part := range l.parts {
		l.overlong.Add(part)
	}
	l.overlong.Add(l.chunk[l.r:l.w])
	l.parts, l.size = nil, 0
	l.r, l.w = 0, 0
	if l.overlong.Size > skipFactor*l.max {
		return fmt.Errorf("no newline in %d bytes; a message may have %d", l.overlong.Size, l.max)
	}
	return nil
}

// fill reads once. It stores an error of the stream for later, and returns an
// error of the context.
func (l *lineReader) fill(ctx context.Context) error {
	l.makeRoom()
	n, err := l.src.read(ctx, l.chunk[l.w:])
	l.w += n
	if err != nil && err == ctx.Err() {
		return err
	}
	l.err = err
	return nil
}

func (l *lineReader) makeRoom() {
	switch {
	case l.r == l.w && l.chunk != nil:
		l.r, l.w = 0, 0
	case l.w < len(l.chunk):
	case l.chunk == nil:
		l.chunk = make([]byte, firstChunk)
	case l.r > len(l.chunk)/2:
		l.w = copy(l.chunk, l.chunk[l.r:l.w])
		l.r = 0
	default:
		l.parts = append(l.parts, l.chunk[l.r:l.w])
		l.size += l.w - l.r
		l.chunk = make([]byte, chunkSize)
		l.r, l.w = 0, 0
	}
}

func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
