package stdio

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	maxStrayBytes    = 1 << 20 // before the first message
	maxSample        = 120     // bytes of a line that are shown
	strayLogInterval = time.Second

	maxSamples     = 3  // lines that are kept for the error of a connection that fails
	inspectedLines = 16 // lines that look like messages and are inspected for log entries
)

// strayOutput filters lines on a server's standard output that are not
// messages. It skips banners, logs and accidental prints. A program that prints
// maxStrayBytes before its first message, or frames of a language server, is no
// server, which is an error. After the first message nothing that is skipped is
// an error: the session works. How long a program may print before its first
// message is limited by the time for connecting.
//
// Spec: 2026-07-28 basic/transports#stdio (nothing but messages on stdout)
type strayOutput struct {
	log *slog.Logger
	err error // the program is no server

	works     bool     // there was a message
	bytes     int      // before it
	count     int      // of all lines
	first     []string // samples of the first ones
	inspected int      // lines, at most inspectedLines

	logged  time.Time
	skipped int // since logged
}

// isMessage reports whether the line may be a message, and counts those that
// are not.
func (c *strayOutput) isMessage(line []byte) bool {
	if c.err != nil {
		return false
	}
	if looksLikeMessage(line) {
		if c.isLogEntry(line) {
			c.keep(line)
		} else {
			c.works = true
		}
		return true
	}
	c.keep(line)
	if !c.works {
		c.bytes += len(line)
		c.err = c.judge(line)
	}
	c.report(line)
	return false
}

// judge returns an error if a line before the first message shows that the program is no server.
func (c *strayOutput) judge(line []byte) error {
	switch {
	case isFrameHeader(line):
		return errors.New("server frames its messages with Content-Length, as a language server does; want one message on each line: the program is no MCP server, or needs an option to be one")
	case c.bytes >= maxStrayBytes:
		return fmt.Errorf("server prints on standard output lines that are not messages, %d bytes before its first message; the last line: %s", c.bytes, sample(line))
	}
	return nil
}

// frameHeader begins each frame of the Language Server Protocol.
const frameHeader = "content-length:"

func isFrameHeader(line []byte) bool {
	return len(line) >= len(frameHeader) && bytes.EqualFold(line[:len(frameHeader)], []byte(frameHeader))
}

// keep counts a line for the error of a connection that fails, and keeps the first ones.
func (c *strayOutput) keep(line []byte) {
	if c.count++; len(c.first) < maxSamples {
		c.first = append(c.first, sample(line))
	}
}

// isLogEntry reports whether an object is certainly no message: it does not have the
// member jsonrpc. Servers that log in JSON do so from the start, so only the first lines
// are inspected.
func (c *strayOutput) isLogEntry(line []byte) bool {
	if c.inspected == inspectedLines {
		return false
	}
	c.inspected++
	return !bytes.Contains(line, []byte(`"jsonrpc"`))
}

func (c *strayOutput) report(line []byte) {
	c.skipped++
	now := time.Now()
	if now.Sub(c.logged) < strayLogInterval {
		return
	}
	c.log.Warn("server printed a line on standard output that is not a message", "line", sample(line), "skipped", c.skipped)
	c.logged, c.skipped = now, 0
}

// looksLikeMessage reports whether the line begins like a JSON object and ends like one or
// mentions JSON-RPC, as a message does that was cut, or is a JSON array. Objects are parsed
// later; arrays are parsed here, because lines such as "[info] ready" are not JSON.
func looksLikeMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) < 2 {
		return false
	}
	switch line[0] {
	case '{':
		rest := bytes.TrimLeft(line[1:], " \t")
		return (rest[0] == '"' || rest[0] == '}') && (line[len(line)-1] == '}' || bytes.Contains(line, []byte(`"jsonrpc"`)))
	case '[':
		return jsontext.Value(line).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	}
	return false
}

// sample quotes the beginning of a line for logs and errors.
func sample(line []byte) string {
	if len(line) > maxSample {
		return fmt.Sprintf("%+q…", line[:maxSample])
	}
	return fmt.Sprintf("%+q", line)
}
