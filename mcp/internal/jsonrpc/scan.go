package jsonrpc

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// scanner reads one JSON text strictly, in one pass, and checks its limits while
// it reads. It is for texts that package rawjson does not accept. It returns values
// as slices of the text.
type scanner struct {
	text     []byte
	limits   Limits
	elements int // values read so far

	input bytes.Buffer // the decoder reads a bytes.Buffer in place, without copying
	dec   jsontext.Decoder
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// newScanner takes a scanner from the pool; release gives it back. Options make it less
// strict.
func newScanner(text []byte, limits Limits, less ...jsontext.Options) *scanner {
	s := scanners.Get().(*scanner)
	s.text, s.limits, s.elements = text, limits, 0
	s.input = *bytes.NewBuffer(text)
	s.dec.Reset(&s.input, less...)
	return s
}

// release must be the last use of s. A scanner that has seen a large text is
// dropped, because the decoder's tables of member names have grown with it.
func (s *scanner) release() {
	const maxPooled = 4096
	if s.elements > maxPooled {
		return
	}
	s.text, s.input = nil, bytes.Buffer{}
	s.dec.Reset(&s.input)
	scanners.Put(s)
}

// begin checks the size of the text before its first token is read.
func (s *scanner) begin() *DecodeError {
	if !s.limits.fits(s.text) {
		return invalidf("%d bytes exceed the limit of %d", len(s.text), s.limits.Size)
	}
	return nil
}

// end checks that no data follows the value.
func (s *scanner) end() *DecodeError {
	_, err := s.dec.ReadToken()
	switch {
	case err == nil:
		return parseErrorf("more text after the JSON value (byte %d)", s.dec.InputOffset())
	case errors.Is(err, io.EOF):
		return nil
	}
	return parseError(err)
}

// next returns the kind of the next token without reading it: KindInvalid if there is none or
// it is invalid. Reading the token distinguishes the two.
func (s *scanner) next() jsontext.Kind { return s.dec.PeekKind() }

// value reads one whole value and returns its text. If it fails, the text is the part that was
// read.
func (s *scanner) value() (jsontext.Value, *DecodeError) {
	start, depth := s.dec.InputOffset(), s.dec.StackDepth()
	for {
		err := s.token()
		if err != nil || s.dec.StackDepth() == depth {
			return s.since(start), err
		}
	}
}

// object reads one whole object. The text of each value is stored where target
// points for the decoded name of its member; with an error the last is partial.
func (s *scanner) object(target func(name []byte) *jsontext.Value) *DecodeError {
	if err := s.token(); err != nil {
		return err
	}
	for s.next() != '}' {
		start := s.dec.InputOffset()
		err := s.token()
		if err != nil {
			return err
		}
		member := target(rawjson.Unquote(s.since(start)))
		if *member, err = s.value(); err != nil {
			return err
		}
	}
	return s.token()
}

// token reads one token, counts it and checks the limits.
func (s *scanner) token() *DecodeError {
	start := s.dec.InputOffset()
	token, err := s.dec.ReadToken()
	if err != nil {
		return parseError(err)
	}
	switch token.Kind() {
	case '}', ']':
		return nil
	case '{', '[':
		if s.dec.StackDepth() > s.limits.depth() {
			return parseErrorf("the text nests deeper than %d levels", s.limits.depth())
		}
	case '"':
		if s.isName() {
			return nil
		}
	case '0':
		if err := checkNumber(s.since(start)); err != nil {
			return err
		}
	}
	s.elements++
	if s.elements > s.limits.elements() {
		return invalidf("the text holds more than %d values", s.limits.elements())
	}
	return nil
}

// isName reports whether the string just read was the name of a member. Names and values
// alternate, so an odd count means that a value comes next.
func (s *scanner) isName() bool {
	kind, count := s.dec.StackIndex(s.dec.StackDepth())
	return kind == '{' && count%2 == 1
}

// since returns the text that was read after the offset start, without the delimiter and white
// space before it. Its capacity is its length, so that appending does not write into the text.
func (s *scanner) since(start int64) jsontext.Value {
	end := s.dec.InputOffset()
	for start < end && isDelimiter(s.text[start]) {
		start++
	}
	return s.text[start:end:end]
}

func isDelimiter(c byte) bool {
	return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\r' || c == '\t'
}

// checkNumber refuses numbers that are costly to convert, or that some parsers read as infinity
// and others refuse.
//
// Spec: RFC 7493 2.2
func checkNumber(text []byte) *DecodeError {
	const alwaysFinite = 300 // digits, without an exponent
	if len(text) > maxNumberSize {
		return invalidf("a number of %d bytes exceeds the limit of %d", len(text), maxNumberSize)
	}
	exponent := bytes.IndexAny(text, "eE")
	if exponent < 0 && len(text) <= alwaysFinite {
		return nil
	}
	if exponent >= 0 && len(bytes.TrimLeft(text[exponent+1:], "+-")) > maxExponentSize {
		return invalidf("the exponent of number %s exceeds the limit of %d digits", excerpt(text), maxExponentSize)
	}
	if _, err := strconv.ParseFloat(string(text), 64); err != nil {
		return invalidf("number %s is out of range", excerpt(text))
	}
	return nil
}
