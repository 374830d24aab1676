package jsonrpc

import "github.com/fondaco/fondaco/mcp/internal/rawjson"

// Decode reads one message. The error, if any, is a *[DecodeError]. A batch is
// not a message: see [IsBatch] and [DecodeBatch].
func Decode(data []byte, limits Limits) (Message, error) {
	m, err := decode(data, limits)
	if err != nil {
		return Message{}, err
	}
	return m, nil
}

func decode(data []byte, limits Limits) (Message, *DecodeError) {
	var e envelope
	if limits.vouch(data, &e) {
		return e.message(limits)
	}
	return judge(data, limits)
}

// vouch fills the envelope from a text that is ordinary and within the limits, as
// nearly all are, or reports that somebody else has to look at it.
func (l Limits) vouch(data []byte, e *envelope) bool {
	e.kind = '{'
	return l.fits(data) && rawjson.Object(data, l.raw(), func(name, value []byte) { *e.member(name) = value })
}

// judge decodes any text, or says what is wrong with it.
func judge(data []byte, limits Limits) (Message, *DecodeError) {
	s := newScanner(data, limits)
	defer s.release()
	if err := s.begin(); err != nil {
		return Message{}, err
	}
	var e envelope
	if err := e.read(s); err != nil {
		return Message{}, err
	}
	if err := s.end(); err != nil {
		return Message{}, err
	}
	return e.message(limits)
}

// CheckValue scans one JSON value from another source as strictly as a message:
// an argument of a form, a file, the data of a token. The error, if any, is a
// *[DecodeError].
func CheckValue(raw []byte, limits Limits) error {
	if err := checkValue(raw, limits); err != nil {
		return err
	}
	return nil
}

func checkValue(raw []byte, limits Limits) *DecodeError {
	if limits.fits(raw) && rawjson.Accepts(raw, limits.raw()) {
		return nil
	}
	s := newScanner(raw, limits)
	defer s.release()
	if err := s.begin(); err != nil {
		return err
	}
	if _, err := s.value(); err != nil {
		return err
	}
	return s.end()
}
