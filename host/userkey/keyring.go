package userkey

import "github.com/zalando/go-keyring"

// Keyring stores one secret of the user. By default it is that of the operating system:
// the keychain of macOS, the credential manager of Windows, or the Secret Service.
type Keyring interface {
	// Get returns the secret. A missing secret is an error.
	Get() (string, error)
	Set(secret string) error
}

// keyringService is the name that keyring programs display.
const keyringService = "fondaco"

// systemKeyring stores one secret for each account, which is a directory.
type systemKeyring struct{ account string }

var _ Keyring = systemKeyring{}

func (k systemKeyring) Get() (string, error) { return keyring.Get(keyringService, k.account) }

func (k systemKeyring) Set(secret string) error {
	return keyring.Set(keyringService, k.account, secret)
}
