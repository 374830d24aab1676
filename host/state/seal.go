package state

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fondaco/fondaco/host/userkey"
)

// entry is the content of one file.
type entry struct {
	key     string
	value   []byte
	expires time.Time // zero for never
}

// live reports whether there is an entry that has not expired.
func (e entry) live() bool {
	return e.key != "" && (e.expires.IsZero() || time.Now().Before(e.expires))
}

// fileName returns the name of the file of a key.
func fileName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// sealer encrypts and authenticates entries together with the names of their files.
type sealer struct {
	key func(context.Context) ([]byte, error)
}

func (s *sealer) cipher(ctx context.Context) (cipher.AEAD, error) {
	key, err := s.key(ctx)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(userkey.Derive(key, "state"))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// A sealed entry is the expiry (8 bytes, nanoseconds since 1970, 0 for never), the length
// of the key (2 bytes), the key and the value, encrypted.
func (s *sealer) close(ctx context.Context, path string, e entry) ([]byte, error) {
	aead, err := s.cipher(ctx)
	if err != nil {
		return nil, err
	}
	var expires int64
	if !e.expires.IsZero() {
		expires = e.expires.UnixNano()
	}
	text := binary.BigEndian.AppendUint64(nil, uint64(expires))
	text = binary.BigEndian.AppendUint16(text, uint16(len(e.key)))
	text = append(append(text, e.key...), e.value...)
	return aead.Seal(nil, nil, text, boundTo(path)), nil
}

var errShort = errors.New("too short")

func (s *sealer) open(ctx context.Context, path string, sealed []byte) (entry, error) {
	aead, err := s.cipher(ctx)
	if err != nil {
		return entry{}, err
	}
	text, err := aead.Open(nil, nil, sealed, boundTo(path))
	if err == nil && (len(text) < 10 || len(text)-10 < int(binary.BigEndian.Uint16(text[8:]))) {
		err = errShort
	}
	if err != nil {
		return entry{}, fmt.Errorf("%s was changed, is damaged, or was written with another key; remove it to decide anew", path)
	}
	end := 10 + int(binary.BigEndian.Uint16(text[8:]))
	e := entry{key: string(text[10:end]), value: text[end:]}
	if expires := int64(binary.BigEndian.Uint64(text)); expires != 0 {
		e.expires = time.Unix(0, expires)
	}
	return e, nil
}

// boundTo returns what an entry is authenticated with: the names of its section and file.
func boundTo(path string) []byte {
	return []byte(filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path))
}
