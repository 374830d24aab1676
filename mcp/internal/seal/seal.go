package seal

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
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

// encoding is strict, so that a token has only one text. Decoding ignores line
// breaks, which Open rejects.
var encoding = base64.RawURLEncoding.Strict()

const (
	maxHeader = 2 + maxKeyID + 8 + saltSize
	overhead  = 12 + 16 // nonce and tag
)

// Seal encrypts plain into a token that expires at the given time, in whole
// seconds. Open needs the same bound, which is not part of the token.
func (r *Ring) Seal(plain, bound []byte, expires time.Time) string {
	key := r.keys[0]
	c := key.sealing()
	size := 2 + len(key.ID) + 8 + saltSize + len(plain) + overhead
	buf := make([]byte, size+encoding.EncodedLen(size))
	header, text := buf[:0:size], buf[size:size]
	header = append(header, version, byte(len(key.ID)))
	header = append(header, key.ID...)
	header = binary.BigEndian.AppendUint64(header, uint64(expires.Unix()))
	header = append(header, c.salt[:]...)
	token := c.aead.Seal(header, nil, plain, appendAuthenticated(text, header, bound))
	return string(encoding.AppendEncode(text, token))
}

// Open decrypts a token that was sealed with one of the keys and the same
// binding, and that has not expired. Every other token is refused with
// ErrRefused.
func (r *Ring) Open[Token string | []byte](token Token, bound []byte, now time.Time) ([]byte, error) {
	buf := make([]byte, 0, encoding.DecodedLen(len(token))+maxHeader+len(bound))
	raw, err := encoding.AppendDecode(buf, []byte(token))
	if err != nil || len(token) != encoding.EncodedLen(len(raw)) || len(raw) < 2 || raw[0] != version {
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
	header, sealed := raw[:headerEnd], raw[headerEnd:len(raw):len(raw)]
	plain, err := key.open([saltSize]byte(header[idEnd+8:]), sealed, appendAuthenticated(raw[len(raw):], header, bound))
	if err != nil || now.Unix() >= int64(binary.BigEndian.Uint64(header[idEnd:])) {
		return nil, ErrRefused
	}
	return plain, nil
}

// appendAuthenticated appends the additional authenticated data of a token to dst. The
// header contains its own length.
func appendAuthenticated(dst, header, bound []byte) []byte {
	return append(append(dst, header...), bound...)
}
