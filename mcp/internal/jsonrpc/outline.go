package jsonrpc

import (
	"bytes"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// outline is what can be recognized of a message in a text that cannot be decoded: the
// members of its envelope and its id. It tells which call the text ends, and nothing else is
// read from it.
//
// Reading it takes one pass and allocates only for the id. It counts brackets, skips strings,
// and checks nothing else.
type outline struct {
	calls, answers bool // there is a method; a result or an error
	named          bool // there is an id
	conflict       bool // there are several ids, or one that is not valid
	versioned      bool // there is a member jsonrpc
	result         bool // there is a result
	id             ID
}

// Incomplete returns the error for a message of which only the beginning and the end are
// known, because it exceeds a limit on its size. The id may be in either part.
func Incomplete(reason string, head, tail []byte) *DecodeError {
	e := invalidf("%s", reason)
	e.Excerpt = excerpt(head)
	if head = trimStart(head); len(head) == 0 || head[0] != '{' {
		return e
	}
	var o outline
	if _, complete := o.readForward(head); !complete {
		o.readBackward(tail)
	}
	e.recognize(&o)
	return e
}

// Refuse returns the error for a text that is refused for another reason than what is wrong
// with it.
func Refuse(text []byte, reason string) *DecodeError { return invalidf("%s", reason).locate(text) }

// recognize sets what was recognized of the message.
func (e *DecodeError) recognize(o *outline) {
	e.Kind, e.ID, e.JSONRPC, e.Result = o.kind(), o.validID(), o.versioned, o.result
}

// locate adds what can be recognized of the messages of the text to the error of decoding
// it: those of a batch, those that follow one another without a line break, or the only one.
// Of several messages with the same id it takes the first.
func (e *DecodeError) locate(text []byte) *DecodeError {
	e.Excerpt = excerpt(text)
	batch := IsBatch(text)
	text = trimStart(text)
	if batch {
		text = trimStart(text[1:])
	}
	seen := make(map[string]bool) // kinds and ids
	for at, n := e, 0; n < maxBatch && len(text) > 0 && text[0] == '{'; n++ {
		var o outline
		text, _ = o.readForward(text)
		text = bytes.TrimLeft(text, " \t\r\n,")
		id := o.validID()
		key := o.kind().String() + id.Key()
		again := seen[key]
		seen[key] = true
		switch {
		case again:
		case n == 0 && !batch, at == e && e.ID.IsZero() && !id.IsZero():
			at.recognize(&o)
		case !id.IsZero():
			at.Next = &DecodeError{Code: e.Code, Reason: e.Reason}
			at = at.Next
			at.recognize(&o)
		}
	}
	return e
}

// trimStart removes what may precede a message: white space, a byte order mark, and a record
// separator.
func trimStart(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return bytes.TrimLeft(text, " \t\r\n\x1e")
}

// kind returns the probable kind of the message, as envelope.messageKind does.
func (o *outline) kind() Kind {
	switch {
	case o.calls == o.answers:
		return Invalid
	case o.answers:
		return Response
	case !o.named:
		return Notification
	}
	return Request
}

// validID returns the id, zero if it is not certain.
func (o *outline) validID() ID {
	if o.conflict {
		return ID{}
	}
	return o.id
}

// member notes one member of the envelope: the text of its name, in quotes, and that of its
// value if this is a string, a number or a word.
func (o *outline) member(name, value []byte) {
	switch string(rawjson.Unquote(name)) {
	case "method":
		o.calls = true
	case "result":
		o.answers, o.result = true, true
	case "error":
		o.answers = true
	case "jsonrpc":
		o.versioned = true
	case "id":
		id, err := ParseID(value)
		o.conflict = o.conflict || err != nil || o.named && o.id.Key() != id.Key()
		o.named, o.id = true, id
	}
}

// readForward reads the object at the beginning of the text, as far as the text goes. It
// returns the text after the object, and whether the object is complete. A member counts
// once its value is complete, except that the name alone says which kind the message is.
func (o *outline) readForward(text []byte) (rest []byte, complete bool) {
	var name, value []byte // of the member being read
	depth := 0
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '"':
			if end = stringEnd(text, i); end < 0 {
				return nil, false
			}
			value = text[i:end]
		case c == ':' && depth == 1:
			if name = value; !isID(name) {
				o.member(name, nil)
			}
			value = nil
		case c == ',' && depth == 1:
			o.end(name, value)
			name, value = nil, nil
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 1 {
				o.end(name, value)
				return text[end:], true
			}
			if depth--; depth == 1 {
				value = text[i:end] // the value was an object or an array
			}
		case !isStructural(c):
			for end < len(text) && !isStructural(text[end]) && text[end] != '"' {
				end++
			}
			value = text[i:end]
		}
		i = end
	}
	return nil, false
}

// end notes an id, whose value had to be read first.
func (o *outline) end(name, value []byte) {
	if isID(name) {
		o.member(name, value)
	}
}

func isID(name []byte) bool { return string(rawjson.Unquote(name)) == "id" }

// readBackward reads the members at the end of an object of which the text is the last part.
// What precedes the text may be anything, so it reads from the closing brace towards the
// beginning, and stops in the first string that does not begin in the text.
func (o *outline) readBackward(text []byte) {
	var value []byte // of the member being read
	colon := false   // it has been passed
	depth := 0
	for i := len(text); i > 0; {
		start := i - 1
		switch c := text[start]; {
		case depth == 0 && c != '}' && !isDelimiter(c):
			return
		case c == '"':
			if start = stringStart(text, start); start < 0 {
				return
			}
			if colon {
				o.member(text[start:i], value)
			}
			colon, value = false, text[start:i]
		case c == ':' && depth == 1:
			colon = true
		case c == ',' && depth == 1:
			colon, value = false, nil
		case c == '}' || c == ']':
			depth++
		case c == '{' || c == '[':
			if depth--; depth == 0 {
				return
			}
			value = text[start:i]
		case !isStructural(c):
			for start > 0 && !isStructural(text[start-1]) && text[start-1] != '"' {
				start--
			}
			value = text[start:i]
		}
		i = start
	}
}

// isStructural reports whether c is white space or punctuation between values.
func isStructural(c byte) bool {
	return isDelimiter(c) || c == '{' || c == '}' || c == '[' || c == ']'
}

// stringEnd returns the index after the string that begins at i, -1 if it does not end.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// stringStart returns the index of the string whose closing quote is at i, -1 if it begins
// before the text. In a string each quote follows an odd number of backslashes; the opening
// quote follows none.
func stringStart(text []byte, i int) int {
	for i--; i >= 0; i-- {
		if text[i] != '"' {
			continue
		}
		escapes := i - len(bytes.TrimRight(text[:i], `\`))
		switch {
		case escapes == i:
			return -1 // there may be more before the text
		case escapes%2 == 0:
			return i
		}
		i -= escapes
	}
	return -1
}
