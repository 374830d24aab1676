package jsonrpc

import "github.com/fondaco/fondaco/mcp/internal/rawjson"

// Decode reads one message. It repairs a text that is not strict JSON where the package
// comment says so; the message then aliases the repaired text, so no later code
// reads the original. The error, if any, is a *[DecodeError]. A batch is not a message: see
// [IsBatch] and [DecodeBatch].
func Decode(data []byte, limits Limits) (Message, error) {
	m, err := decode(data, limits)
	if err != nil {
		err.Excerpt = excerpt(data)
		return Message{}, err
	}
	return m, nil
}

func decode(data []byte, limits Limits) (Message, *DecodeError) {
	var e envelope
	if limits.decodeOrdinary(data, &e) {
		return e.message(limits)
	}
	return decodeRare(data, limits)
}

// decodeOrdinary fills the envelope from a text that package rawjson accepts and
// that is within the limits, as nearly all are. It reports false for any other
// text, which decodeRare decodes or refuses.
func (l Limits) decodeOrdinary(data []byte, e *envelope) bool {
	e.kind = '{'
	return l.fits(data) && rawjson.Object(data, l.raw(), func(name, value []byte) { *e.member(name) = value })
}

// decodeRare decodes any text, which it repairs if that is allowed, or returns an error that
// says what is wrong and, if possible, with which message.
func decodeRare(data []byte, limits Limits) (Message, *DecodeError) {
	e, err := readEnvelope(data, limits)
	if err != nil && err.Code == CodeParse {
		var repaired []byte
		if repaired, err = repair(data, limits); err == nil {
			e, err = readEnvelope(repaired, limits)
		}
	}
	if err != nil {
		return Message{}, err.locate(data)
	}
	return e.message(limits)
}

// readEnvelope reads a text that has to be strict JSON.
func readEnvelope(data []byte, limits Limits) (e envelope, err *DecodeError) {
	s := newScanner(data, limits)
	defer s.release()
	if err := s.begin(); err != nil {
		return e, err
	}
	if err := e.read(s); err != nil {
		return e, err
	}
	return e, s.end()
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
