// Package seal encrypts small state that a peer keeps and later sends back:
// authenticated encryption with a key id, rotation of keys, an expiry, and
// binding to the context that the state belongs to.
//
// A token is base64url, without padding, of
//
//	version 1 byte │ key id length 1 byte, then the id │ expiry 8 bytes (nanoseconds since 1970) │ salt 16 bytes │ nonce, ciphertext, tag
//
// AES-256-GCM encrypts it under a key that HKDF-SHA-256 derives from the secret
// and the salt, so that a key can be used for any number of tokens. Everything
// before the nonce is authenticated, together with the binding.
package seal
