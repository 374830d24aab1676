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

// ErrRefused is the only error of Open, so that the sender of a token learns
// nothing about the reason.
var ErrRefused = errors.New("not valid here")

// encoding is strict, so that a token has only one text. It ignores line
// breaks, which Open rejects.
var encoding = base64.RawURLEncoding.Strict()

// Seal encrypts plain into a token that expires at the given time, in whole
// seconds. Open needs the same bound, which is not part of the token.
func (r *Ring) Seal(plain, bound []byte, expires time.Time) string {
	key := r.keys[0]
	c := key.sealing()
	const overhead = 12 + 16 // nonce and tag
	header := make([]byte, 0, 2+len(key.ID)+8+saltSize+len(plain)+overhead)
	header = append(header, version, byte(len(key.ID)))
	header = append(header, key.ID...)
	header = binary.BigEndian.AppendUint64(header, uint64(expires.Unix()))
	header = append(header, c.salt[:]...)
	return encoding.EncodeToString(c.aead.Seal(header, nil, plain, authenticated(header, bound)))
}

// Open decrypts a token that was sealed with one of the keys and the same
// binding, and that has not expired. Every other token is refused with
// ErrRefused.
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

// authenticated returns the additional authenticated data of a token. The
// header contains its own length.
func authenticated(header, bound []byte) []byte {
	return append(header[:len(header):len(header)], bound...)
}
