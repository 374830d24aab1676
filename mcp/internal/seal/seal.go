package seal

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

const (
	version  = 1
	saltSize = 16
	purpose  = "fondaco sealed state 1"
)

// ErrRefused is the only error of Open: who sent the token learns nothing of
// why it is refused.
var ErrRefused = errors.New("not valid here")

// encoding is strict, so that no two texts stand for one token; but for line
// breaks, which it skips.
var encoding = base64.RawURLEncoding.Strict()

// Seal encrypts plain until it expires, which is kept in whole seconds. What it
// belongs to, bound, is needed to open it and is not in the token.
func (r *Ring) Seal(plain, bound []byte, expires time.Time) string {
	key := r.keys[0]
	c := key.sealing()
	header := make([]byte, 0, 2+len(key.ID)+8+saltSize)
	header = append(header, version, byte(len(key.ID)))
	header = append(header, key.ID...)
	header = binary.BigEndian.AppendUint64(header, uint64(expires.Unix()))
	header = append(header, c.salt[:]...)
	sealed := c.aead.Seal(nil, nil, plain, authenticated(header, bound))
	return encoding.EncodeToString(append(header, sealed...))
}

// Open returns what was sealed under one of the keys, with the same binding and
// not yet expired. Every other token is refused with ErrRefused.
func (r *Ring) Open(token string, bound []byte, now time.Time) ([]byte, error) {
	raw, err := encoding.DecodeString(token)
	if err != nil || strings.ContainsAny(token, "\r\n") || len(raw) < 2 || raw[0] != version {
		return nil, ErrRefused
	}
	idEnd := 2 + int(raw[1])
	headerEnd := idEnd + 8 + saltSize
	if len(raw) < headerEnd {
		return nil, ErrRefused
	}
	key := r.find(string(raw[2:idEnd]))
	if key == nil {
		return nil, ErrRefused
	}
	header := raw[:headerEnd]
	plain, err := key.open([saltSize]byte(header[idEnd+8:]), raw[headerEnd:], authenticated(header, bound))
	if err != nil || now.Unix() >= int64(binary.BigEndian.Uint64(header[idEnd:])) {
		return nil, ErrRefused
	}
	return plain, nil
}

// authenticated is what a token is bound to besides its own text. The header
// tells its own length.
func authenticated(header, bound []byte) []byte {
	return append(header[:len(header):len(header)], bound...)
}
