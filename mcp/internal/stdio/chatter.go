package stdio

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"log/slog"
	"time"
)

const (
	maxChatterRow   = 20      // lines without a message between them
	maxChatterBytes = 1 << 20 // in all
	maxSample       = 120     // bytes of a line that are shown
	chatterLogEvery = time.Second
)

// chatter deals with lines on a server's standard output that are no messages.
// Banners and stray prints happen and are skipped; a server that prints more
// than that has its log on the wrong stream.
//
// Spec: 2026-07-28 basic/transports#stdio (nothing but messages on stdout)
type chatter struct {
	log *slog.Logger
	err error // the server has printed too much

	row   int
	bytes int

	logged  time.Time
	skipped int // since logged
}

// admits reports whether the line may be a message, and keeps count of those
// that are not.
func (c *chatter) admits(line []byte) bool {
	if c.err != nil {
		return false
	}
	if looksLikeMessage(line) {
		c.row = 0
		return true
	}
	c.row++
	c.bytes += len(line)
	switch {
	case c.row >= maxChatterRow:
		c.err = fmt.Errorf("server prints on standard output what is not a message, %d lines in a row; the last: %s", c.row, sample(line))
	case c.bytes >= maxChatterBytes:
		c.err = fmt.Errorf("server prints on standard output what is not a message, %d bytes in all; the last line: %s", c.bytes, sample(line))
	}
	c.report(line)
	return false
}

func (c *chatter) report(line []byte) {
	c.skipped++
	now := time.Now()
	if now.Sub(c.logged) < chatterLogEvery {
		return
	}
	c.log.Warn("server printed on standard output what is not a message", "line", sample(line), "skipped", c.skipped)
	c.logged, c.skipped = now, 0
}

// looksLikeMessage reports whether the line can be a JSON object, by its two
// ends, or is a JSON array. Messages are objects and are parsed later anyway;
// arrays are rare, and lines such as "[info] ready" are not.
func looksLikeMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) < 2 {
		return false
	}
	switch line[0] {
	case '{':
		rest := bytes.TrimLeft(line[1:], " \t")
		return (rest[0] == '"' || rest[0] == '}') && line[len(line)-1] == '}'
	case '[':
		return jsontext.Value(line).IsValid()
	}
	return false
}

// sample quotes the beginning of a line, so that it can be shown anywhere.
func sample(line []byte) string {
	if len(line) > maxSample {
		return fmt.Sprintf("%+q…", line[:maxSample])
	}
	return fmt.Sprintf("%+q", line)
}
