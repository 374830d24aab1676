package jsonrpc

import (
	"bytes"
	"encoding/json/jsontext"
)

// Item is one entry of a batch: a message, or the error of an invalid entry.
type Item struct {
	Message Message
	Err     *DecodeError // nil for a valid message
}

// IsBatch reports whether data starts like a batch, which is an array.
func IsBatch(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte{'['})
}

// DecodeBatch reads a batch of 1 to 100 messages. It checks each item separately: an invalid
// envelope does not affect the other items, nor does what [Decode] repairs or refuses in one
// item, and of several requests with the same id all but the first are refused. If the whole
// text is not JSON or exceeds the limits, which bound a batch like a message, there are no
// items and the error is a *[DecodeError], one for each message whose id is recognized.
//
// Spec: 2025-03-26 basic#batching
func DecodeBatch(data []byte, limits Limits) ([]Item, error) {
	items, err := decodeBatch(data, limits)
	if err != nil {
		return nil, err
	}
	return items, nil
}

func decodeBatch(data []byte, limits Limits) ([]Item, *DecodeError) {
	texts, err := splitBatch(data, limits)
	if err != nil {
		return nil, err.locate(data)
	}
	items := make([]Item, len(texts))
	seen := make(map[string]bool, len(texts))
	for i, text := range texts {
		m, err := decode(text, limits)
		if err == nil && m.Kind == Request {
			err = checkUnseen(seen, m.ID)
		}
		if err != nil {
			err.Excerpt = excerpt(text)
			items[i].Err = err
			continue
		}
		items[i].Message = m
	}
	return items, nil
}

// checkUnseen refuses an id that an earlier request of the batch has. The error has no id,
// because the error response could be mistaken for the response to the earlier request.
func checkUnseen(seen map[string]bool, id ID) *DecodeError {
	key := id.Key()
	if seen[key] {
		err := invalidf("id %s is used twice in one batch", excerpt(id.raw))
		err.Kind = Request
		return err
	}
	seen[key] = true
	return nil
}

// splitBatch returns the texts of the items of a batch. It checks the limits of the whole text
// and that it is JSON, of which the items may need to be repaired.
func splitBatch(data []byte, limits Limits) ([]jsontext.Value, *DecodeError) {
	s := newScanner(data, limits, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	defer s.release()
	if err := s.begin(); err != nil {
		return nil, err
	}
	if kind := s.next(); kind != '[' {
		if _, err := s.value(); err != nil {
			return nil, err
		}
		return nil, invalidf("a batch is an array, not %v", kind)
	}
	if err := s.token(); err != nil {
		return nil, err
	}
	var items []jsontext.Value
	for s.next() != ']' {
		if len(items) == maxBatch {
			return nil, invalidf("a batch holds at most %d messages", maxBatch)
		}
		item, err := s.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if err := s.token(); err != nil {
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, invalidf("a batch holds at least one message")
	}
	return items, nil
}
