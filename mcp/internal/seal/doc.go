// Package seal gives away small pieces of state and takes back only what it
// gave: authenticated encryption with a key id, rotation of keys, an expiry, and
// binding to what the state belongs to.
//
// A token is base64url, without padding, of
//
//	version 1 byte │ key id length 1 byte, then the id │ expiry 8 bytes │ salt 16 bytes │ nonce, ciphertext, tag
//
// AES-256-GCM encrypts it under a key that HKDF-SHA-256 derives from the secret
// and the salt, so that no number of tokens wears out a key that is shared for
// long. Everything before the nonce is authenticated with the binding.
package seal
