// Package sse writes and reads streams of server-sent events.
//
// Data may be any bytes: a line break in it becomes another data line, so that
// no payload can end its event or add a field to it. Other fields whose values could
// do so are omitted.
//
// Spec: WHATWG HTML 9.2, Server-sent events
package sse

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a stream.
type Event struct {
	// ID is the id from which a stream can be resumed. In an event that was read it is the
	// last id of the stream so far, as the standard defines, even if the event has no id.
	ID string
	// Name is the type of the event. Empty means "message".
	Name string
	// Retry asks the reader to wait this long before it connects again. Zero
	// means that the event does not say; on the wire it counts milliseconds.
	Retry time.Duration
	// Data is the payload. Nil means that the event has none and only sets ID
	// and Retry; an empty slice is a payload, though an empty one.
	Data []byte
}

// AppendEvent appends ev to dst and returns the extended slice. The reader gets CR, LF and
// CRLF in Data as LF. An ID or Name with CR, LF or NUL cannot be written and is
// omitted; Retry is rounded up to a millisecond.
func AppendEvent(dst []byte, ev Event) []byte {
	dst = appendField(dst, "event", ev.Name)
	dst = appendField(dst, "id", ev.ID)
	if ev.Retry > 0 {
		milliseconds := (ev.Retry-1)/time.Millisecond + 1
		dst = appendField(dst, "retry", strconv.FormatInt(int64(milliseconds), 10))
	}
	if ev.Data != nil {
		dst = appendLines(dst, "data: ", ev.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends a comment, which readers ignore, to dst and returns the
// extended slice. It keeps an idle connection open.
func AppendComment(dst []byte, text string) []byte {
	dst = appendLines(dst, ": ", []byte(text))
	return append(dst, '\n')
}

// appendField appends a field, unless it is empty or has a character that a line cannot have.
func appendField(dst []byte, name, value string) []byte {
	if value == "" || strings.ContainsAny(value, "\r\n\x00") {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, '\n')
}

// appendLines appends each line of text with the prefix before it. Readers remove the space
// at the end of the prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for more := true; more; {
		var part []byte
		part, text, more = bytes.Cut(text, []byte{'\n'})
		if more {
			part = bytes.TrimSuffix(part, []byte{'\r'}) // CRLF is one line break.
		}
		for line := range bytes.SplitSeq(part, []byte{'\r'}) {
			dst = append(dst, prefix...)
			dst = append(dst, line...)
			dst = append(dst, '\n')
		}
	}
	return dst
}
