package signin

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// KeyVariable is the environment variable that may hold the encryption key of the tokens:
// 32 random bytes in base64.
const KeyVariable = "FONDACO_TOKEN_KEY"

// keySize is the length of the key in bytes.
const keySize = 32

// keySource finds the encryption key of the tokens. It uses the first place that has one:
//
//	find
//	├─ environment     KeyVariable
//	├─ file            which create wrote because there was no keyring
//	├─ keyring
//	└─ create          a new key in the keyring, else in the file
type keySource struct {
	env       func(string) (string, bool)
	keyring   Keyring
	file      string
	onKeyFile func(path string)
}

// find returns the key. It creates one only if mayCreate is set, because tokens encrypted with a
// lost key cannot be read.
func (k *keySource) find(mayCreate bool) ([]byte, error) {
	if text, ok := k.env(KeyVariable); ok && text != "" {
		return decodeKey("$"+KeyVariable, text)
	}
	key, err := k.readFile()
	if key != nil || err != nil {
		return key, err
	}
	text, missing := k.keyring.Get()
	switch {
	case missing == nil:
		return decodeKey("the keyring", text)
	case !mayCreate:
		return nil, fmt.Errorf("token encryption key not found: $%s is not set, %s does not exist, keyring: %w; provide the key, or remove %s and sign in again", KeyVariable, k.file, missing, strings.TrimSuffix(k.file, ".key"))
	}
	return k.create()
}

func (k *keySource) create() ([]byte, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	if k.keyring.Set(base64.StdEncoding.EncodeToString(key)) == nil {
		return key, nil
	}
	return k.writeFile(key)
}

// readFile returns the key in the file, nil if there is no file.
func (k *keySource) readFile() ([]byte, error) {
	info, err := os.Stat(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: mode %o: other users can read it; run chmod 600 on it first", k.file, info.Mode().Perm())
	}
	text, err := os.ReadFile(k.file)
	if err != nil {
		return nil, err
	}
	return decodeKey(k.file, string(text))
}

// writeFile writes a new key to the file. If another process has written one in the
// meantime, it returns that one.
func (k *keySource) writeFile(key []byte) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return nil, err
	}
	next, err := os.CreateTemp(filepath.Dir(k.file), "key") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(next.Name())
	_, err = fmt.Fprintln(next, base64.StdEncoding.EncodeToString(key))
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return nil, err
	}
	switch err := os.Link(next.Name(), k.file); {
	case errors.Is(err, fs.ErrExist):
		return k.readFile()
	case err != nil:
		return nil, err
	}
	k.onKeyFile(k.file)
	return key, nil
}

// decodeKey decodes a key. Its errors contain nothing of it.
func decodeKey(place, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("token encryption key in %s: want %d bytes in base64", place, keySize)
	}
	return key, nil
}
