package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"sync/atomic"
)

const (
	// tokensPerSalt bounds the tokens that are sealed with one cipher. It is far below
	// the 2^32 messages for which random nonces of 96 bits are safe.
	//
	// NIST SP 800-38D 8.3
	tokensPerSalt = 1 << 20
	// maxOpeners bounds the ciphers that a key keeps for opening: one for each process
	// that seals with it now, and a few of the past.
	maxOpeners = 64
)

// keyCiphers is a key and the ciphers that were derived from it. Deriving one costs more
// than sealing a token.
type keyCiphers struct {
	Key
	sealer atomic.Pointer[saltCipher]

	mu      sync.RWMutex
	openers map[[saltSize]byte]cipher.AEAD // guarded by mu: of salts under which a token was valid
}

// saltCipher is the cipher of one salt.
type saltCipher struct {
	salt [saltSize]byte
	aead cipher.AEAD
	left atomic.Int64 // number of tokens that may still be sealed
}

// sealing returns the cipher for the next token.
func (k *keyCiphers) sealing() *saltCipher {
	if c := k.sealer.Load(); c != nil && c.left.Add(-1) >= 0 {
		return c
	}
	c := new(saltCipher)
	_, _ = rand.Read(c.salt[:]) // never fails
	c.aead = k.derive(c.salt)
	c.left.Store(tokensPerSalt)
	k.sealer.Store(c)
	return c
}

// open decrypts a token in place. The cipher of a salt is kept once a token has been valid under
// it, so that a client cannot fill the table with invented salts.
func (k *keyCiphers) open(salt [saltSize]byte, sealed, authenticated []byte) ([]byte, error) {
	k.mu.RLock()
	aead, known := k.openers[salt]
	k.mu.RUnlock()
	if !known {
		aead = k.derive(salt)
	}
	plain, err := aead.Open(sealed[:0], nil, sealed, authenticated)
	if err == nil && !known {
		k.keepOpener(salt, aead)
	}
	return plain, err
}

func (k *keyCiphers) keepOpener(salt [saltSize]byte, aead cipher.AEAD) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.openers == nil || len(k.openers) >= maxOpeners {
		k.openers = make(map[[saltSize]byte]cipher.AEAD)
	}
	k.openers[salt] = aead
}

// derive returns the cipher of a salt. The cipher writes its random nonce before the
// ciphertext.
func (k *keyCiphers) derive(salt [saltSize]byte) cipher.AEAD {
	derived, err := hkdf.Key(sha256.New, k.Secret, salt[:], purpose, 32)
	if err != nil {
		panic("seal: derive a key: " + err.Error())
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		panic("seal: " + err.Error())
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("seal: " + err.Error())
	}
	return aead
}
