package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// SealedEvents returns an EventStore that keeps its events in e, encrypted and authenticated, and
// bound to the name of their stream and to their number. The first key encrypts, all of them
// decrypt, as for Sealed; the keys may be the same. After fails if an event was changed, made or
// moved by someone without the keys.
//
// Who can read the engine sees names of streams, numbers and sizes, and whether two attempts to
// append an event were equal, but no events. Who can write to it can remove events: the server
// refuses a client that needs one of them to resume.
//
// An event is up to 128 bytes longer in e. The stores below this package take that also of an event
// of 1 MiB. SealedEvents fails if there is no key, or one is not valid. The result is safe for
// concurrent use.
func SealedEvents(e mcp.EventStore, keys ...mcpserver.Key) (mcp.EventStore, error) {
	all := make([]seal.Key, len(keys))
	for i, k := range keys {
		all[i] = seal.Key(k)
	}
	if _, err := seal.NewRing(all...); err != nil { // which checks them
		return nil, fmt.Errorf("sealed events: %w", err)
	}
	s := &sealedEvents{EventStore: e}
	for _, k := range keys {
		s.keys = append(s.keys, newEventKey(k))
	}
	return s, nil
}

// sealedEvents encrypts events. A sealed event is
//
//	number 8 bytes │ key id length 1 byte, then the id │ HMAC-SHA-256 32 bytes │ ciphertext
//
// The HMAC is of the stream, the number, the id of the key and the plaintext, and AES-256-CTR begins
// with its first half (a synthetic IV, as RFC 5297). No random number is in it: the same event has
// the same text, so that an engine accepts it a second time after a call whose outcome is not known.
type sealedEvents struct {
	mcp.EventStore // its method Trim is that of sealedEvents
	keys           []eventKey
}

type eventKey struct {
	id      string
	authKey []byte
	block   cipher.Block
}

// What precedes the ciphertext, with the longest id of a key, is shorter than the room for it.
var _ [sealedOverhead - (8 + 1 + 32 + sha256.Size)]struct{}

func newEventKey(k mcpserver.Key) eventKey {
	derive := func(purpose string) []byte {
		key, err := hkdf.Key(sha256.New, k.Secret, nil, "fondaco sealed events 1 "+purpose, 32)
		if err != nil {
			panic(fmt.Sprintf("store: %v", err)) // cannot happen: the size is fixed
		}
		return key
	}
	block, err := aes.NewCipher(derive("encryption"))
	if err != nil {
		panic(fmt.Sprintf("store: %v", err)) // cannot happen: the size is that of AES-256
	}
	return eventKey{id: k.ID, authKey: derive("authentication"), block: block}
}

// sum authenticates an event of a stream. The number and the id of the key are in header.
func (k eventKey) sum(stream string, header, msg []byte) []byte {
	h := hmac.New(sha256.New, k.authKey)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(stream))))
	h.Write([]byte(stream))
	h.Write(header)
	h.Write(msg)
	return h.Sum(nil)
}

// crypt encrypts or decrypts src to dst, which may be the same.
func (k eventKey) crypt(dst, src, sum []byte) {
	cipher.NewCTR(k.block, sum[:aes.BlockSize]).XORKeyStream(dst, src)
}

// Append implements mcp.EventStore.
func (s *sealedEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	k := s.keys[0]
	text := make([]byte, 0, sealedOverhead+len(msg))
	text = binary.BigEndian.AppendUint64(text, uint64(n))
	text = append(append(text, byte(len(k.id))), k.id...)
	sum := k.sum(stream, text, msg)
	text = append(append(text, sum...), msg...)
	body := text[len(text)-len(msg):]
	k.crypt(body, body, sum)
	return s.EventStore.Append(ctx, stream, n, text)
}

// After implements mcp.EventStore.
func (s *sealedEvents) After(ctx context.Context, stream string, n int64) ([][]byte, error) {
	texts, err := s.EventStore.After(ctx, stream, n)
	if err != nil {
		return nil, err
	}
	msgs := make([][]byte, len(texts))
	for i, text := range texts {
		number, msg, err := s.open(stream, text)
		if err == nil && number <= n {
			err = errors.New("an event twice, or out of order")
		}
		if err != nil {
			return nil, fmt.Errorf("sealed events: the event of %q after %d: %w", stream, n, err)
		}
		n, msgs[i] = number, msg
	}
	return msgs, nil
}

var errEventForged = errors.New("it was changed, or was not encrypted with one of the keys")

// open returns the number and the bytes of an event.
func (s *sealedEvents) open(stream string, text []byte) (n int64, msg []byte, err error) {
	if len(text) < 9 || len(text) < 9+int(text[8])+sha256.Size {
		return 0, nil, errEventForged
	}
	header, rest := text[:9+int(text[8])], text[9+int(text[8]):]
	i := slices.IndexFunc(s.keys, func(k eventKey) bool { return k.id == string(header[9:]) })
	if i < 0 {
		return 0, nil, errEventForged
	}
	sum, sealed := rest[:sha256.Size], rest[sha256.Size:]
	msg = make([]byte, len(sealed))
	s.keys[i].crypt(msg, sealed, sum)
	if !hmac.Equal(sum, s.keys[i].sum(stream, header, msg)) {
		return 0, nil, errEventForged
	}
	return int64(binary.BigEndian.Uint64(header)), msg, nil
}
