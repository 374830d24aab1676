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

// KeyVariable is the variable of the environment that may hold the key of the tokens:
// 32 random bytes in base64.
const KeyVariable = "FONDACO_TOKEN_KEY"

// keySize is the length of the key in bytes.
const keySize = 32

// keys is where the key of the tokens may be. It is the first that there is:
//
//	find
//	├─ environment     KeyVariable
//	├─ file            which was made where there was no keyring
//	├─ keyring
//	└─ make            into the keyring, else into the file
type keys struct {
	env    func(string) (string, bool)
	ring   Keyring
	file   string
	onFile func(path string)
}

// find returns the key, which is made only if nothing was sealed with another.
func (k *keys) find(mayMake bool) ([]byte, error) {
	if text, ok := k.env(KeyVariable); ok && text != "" {
		return decodeKey("$"+KeyVariable, text)
	}
	key, err := k.read()
	if key != nil || err != nil {
		return key, err
	}
	text, missing := k.ring.Get()
	switch {
	case missing == nil:
		return decodeKey("the keyring", text)
	case !mayMake:
		return nil, fmt.Errorf("the key of the tokens is not to be had: it is in neither $%s nor %s, and keyring: %w; with the key they open, and without %s you sign in again", KeyVariable, k.file, missing, strings.TrimSuffix(k.file, ".key"))
	}
	return k.make()
}

func (k *keys) make() ([]byte, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // which never fails
	if k.ring.Set(base64.StdEncoding.EncodeToString(key)) == nil {
		return key, nil
	}
	return k.write(key)
}

// read returns the key of the file, nil if there is none.
func (k *keys) read() ([]byte, error) {
	info, err := os.Stat(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others (mode %#o): want no rights for group and others", k.file, info.Mode().Perm())
	}
	text, err := os.ReadFile(k.file)
	if err != nil {
		return nil, err
	}
	return decodeKey(k.file, string(text))
}

// write keeps a new key in the file, unless another process was faster: then it
// returns the key of that one.
func (k *keys) write(key []byte) ([]byte, error) {
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
		return k.read()
	case err != nil:
		return nil, err
	}
	k.onFile(k.file)
	return key, nil
}

// decodeKey reads a key. Errors repeat nothing of it.
func decodeKey(place, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("key of the tokens in %s: want %d bytes in base64", place, keySize)
	}
	return key, nil
}
