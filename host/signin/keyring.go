package signin

import "github.com/zalando/go-keyring"

// Keyring keeps one secret for the user. It is that of the operating system: the
// keychain of macOS, the credential manager of Windows, or the Secret Service.
type Keyring interface {
	// Get returns the secret. What is not there, or cannot be had, is an error.
	Get() (string, error)
	Set(secret string) error
}

// service is what the secret is kept under, for people who look.
const service = "fondaco"

// systemKeyring keeps one secret for each account, which is a directory.
type systemKeyring struct{ account string }

var _ Keyring = systemKeyring{}

func (k systemKeyring) Get() (string, error) { return keyring.Get(service, k.account) }

func (k systemKeyring) Set(secret string) error { return keyring.Set(service, k.account, secret) }
