package seal

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
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

// Forever is the latest expiry of a token, in 2262.
var Forever = time.Unix(0, math.MaxInt64)

// Seal encrypts plain into a token that expires at the given time, to the nanosecond, and at
// Forever at the latest. Open needs the same bound, which is not part of the token.
func (r *Ring) Seal(plain, bound []byte, expires time.Time) string {
	if expires.After(Forever) {
		expires = Forever
	}
	key := r.keys[0]
	c := key.sealing()
	size := 2 + len(key.ID) + 8 + saltSize + len(plain) + overhead
	buf := make([]byte, size+encoding.EncodedLen(size))
	header, text := c.appendHeader(buf[:0:size], key.ID, expires), buf[size:size]
	token := c.aead.Seal(header, nil, plain, appendAuthenticated(text, header, bound))
	return string(encoding.AppendEncode(text, token))
}

// RawOverhead is how much longer a token of SealRaw is than its plaintext, at most.
const RawOverhead = maxHeader + overhead

// SealRaw is Seal for a token that does not expire and need not be text.
func (r *Ring) SealRaw(plain, bound []byte) []byte {
	key := r.keys[0]
	c := key.sealing()
	header := c.appendHeader(make([]byte, 0, RawOverhead+len(plain)), key.ID, Forever)
	return c.aead.Seal(header, nil, plain, appendAuthenticated(nil, header, bound))
}

// appendHeader appends what precedes the nonce of a token.
func (c *saltCipher) appendHeader(dst []byte, keyID string, expires time.Time) []byte {
	dst = append(dst, version, byte(len(keyID)))
	dst = append(dst, keyID...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires.UnixNano()))
	return append(dst, c.salt[:]...)
}

// Open decrypts a token that was sealed with one of the keys and the same
// binding, and that has not expired. Every other token is refused with
// ErrRefused.
func (r *Ring) Open[Token string | []byte](token Token, bound []byte, now time.Time) ([]byte, error) {
	buf := make([]byte, 0, encoding.DecodedLen(len(token))+maxHeader+len(bound))
	raw, err := encoding.AppendDecode(buf, []byte(token))
	if err != nil || len(token) != encoding.EncodedLen(len(raw)) {
		return nil, ErrRefused
	}
	return r.openRaw(raw, bound, now)
}

// OpenRaw is Open for a token of SealRaw, which it does not change.
func (r *Ring) OpenRaw(token, bound []byte, now time.Time) ([]byte, error) {
	return r.openRaw(append(make([]byte, 0, len(token)+maxHeader+len(bound)), token...), bound, now)
}

// openRaw decrypts a token in place. There is room behind it for what is authenticated.
func (r *Ring) openRaw(raw, bound []byte, now time.Time) ([]byte, error) {
	if len(raw) < 2 || raw[0] != version {
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
	if err != nil || now.UnixNano() >= int64(binary.BigEndian.Uint64(header[idEnd:])) {
		return nil, ErrRefused
	}
	return plain, nil
}

// IsForeign reports whether a text has the form of a token, of a key that is not in the ring.
// Ids of keys are no secrets, so its sender may be told.
func (r *Ring) IsForeign(token string) bool {
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) < 2 || raw[0] != version {
		return false
	}
	idEnd := 2 + int(raw[1])
	return len(raw) >= idEnd+8+saltSize+overhead && r.find(string(raw[2:idEnd])) == nil
}

// appendAuthenticated appends the additional authenticated data of a token to dst. The
// header contains its own length.
func appendAuthenticated(dst, header, bound []byte) []byte {
	return append(append(dst, header...), bound...)
}
