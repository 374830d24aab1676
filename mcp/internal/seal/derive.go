package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
)

// DeriveKey returns a key of 32 bytes for a purpose, which is derived from the first key of the
// ring. All processes whose ring begins with the same key derive the same one.
func (r *Ring) DeriveKey(purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, r.keys[0].Secret, nil, purpose, 32)
	if err != nil {
		panic("seal: derive a key: " + err.Error())
	}
	return derived
}
