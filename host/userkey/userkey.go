// Package userkey finds the key of the user, with which the host encrypts tokens and
// authenticates approvals.
package userkey

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/host/userfile"
)

// Variable is the environment variable that may hold the user's key: 32 random bytes in
// base64.
const Variable = "FONDACO_USER_KEY"

// Size is the length of a key in bytes.
const Size = 32

// Source finds the user's key. It uses the first place that has one:
//
//	Key
//	├─ environment   Variable
//	├─ file          user.key, which create wrote because there was no keyring
//	├─ keyring
//	└─ create        a new key in the keyring, else in the file; only once
//
// The digest of the first key is kept in user.key.id. Another key is refused, and none is
// created in its place: what the first one has sealed could not be read. All methods are
// safe for concurrent use.
type Source struct {
	dir     string
	options *Options

	mu      sync.Mutex
	attempt *attempt // the current or successful attempt; nil before the first and after a failure
}

// Options of a Source. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Env looks up Variable. Default: os.LookupEnv.
	Env func(name string) (string, bool)
	// Keyring stores the key. Default: that of the operating system.
	Keyring Keyring
	// OnKeyFile is called when a new key was written to a file because there is no
	// keyring. It may be nil.
	OnKeyFile func(path string)
}

// Open returns the source of the key for the state in a directory. Nothing is read yet.
func Open(dir string, o *Options) *Source {
	full := Options{Env: os.LookupEnv, Keyring: systemKeyring{dir}, OnKeyFile: func(string) {}}
	if o != nil && o.Env != nil {
		full.Env = o.Env
	}
	if o != nil && o.Keyring != nil {
		full.Keyring = o.Keyring
	}
	if o != nil && o.OnKeyFile != nil {
		full.OnKeyFile = o.OnKeyFile
	}
	return &Source{dir: dir, options: &full}
}

// Derive returns a key for one purpose, of 32 bytes.
func Derive(key []byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, key, nil, "fondaco "+purpose, Size)
	if err != nil {
		panic(fmt.Sprintf("userkey: %v", err)) // cannot happen: the size is fixed
	}
	return derived
}

// attempt is one attempt to find the key. All callers wait for it.
type attempt struct {
	done chan struct{} // closed after the other fields are set
	key  []byte
	err  error
}

// Key returns the key. A keyring may ask the user to unlock it and takes no context, so the
// attempt goes on when ctx ends, and the next call waits for it.
func (s *Source) Key(ctx context.Context) ([]byte, error) {
	a := s.startAttempt()
	select {
	case <-a.done:
		return a.key, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("user key: %w", context.Cause(ctx))
	}
}

func (s *Source) startAttempt() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt == nil {
		s.attempt = &attempt{done: make(chan struct{})}
		go s.run(s.attempt)
	}
	return s.attempt
}

func (s *Source) run(a *attempt) {
	defer close(a.done)
	if a.key, a.err = s.findOrCreate(); a.err == nil {
		return
	}
	a.err = fmt.Errorf("user key: %w", a.err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = nil
}

func (s *Source) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Source) findOrCreate() ([]byte, error) {
	if err := userfile.MkdirAll(s.dir); err != nil {
		return nil, err
	}
	unlock, err := userfile.Lock(context.Background(), s.path("user.key.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	known, err := s.knownDigest()
	if err != nil {
		return nil, err
	}
	key, err := s.find()
	switch {
	case err == nil && known != "" && digest(key) != known:
		return nil, fmt.Errorf("found another key than the one that was used before; %s", s.lost())
	case err == nil && known == "":
		return key, userfile.WriteFile(s.path("user.key.id"), []byte(digest(key)+"\n"))
	case err == nil:
		return key, nil
	case !errors.Is(err, errNotFound):
		return nil, err
	case known != "":
		return nil, fmt.Errorf("not found: $%s is not set, %s does not exist, keyring: %w; %s", Variable, s.path("user.key"), err, s.lost())
	}
	if key, err = s.create(); err != nil {
		return nil, err
	}
	return key, userfile.WriteFile(s.path("user.key.id"), []byte(digest(key)+"\n"))
}

// lost says what helps when the key is lost.
func (s *Source) lost() string {
	return fmt.Sprintf("provide that key, or remove %s, approve and sign in again", s.dir)
}

// knownDigest returns the digest of the first key, empty if there was none.
func (s *Source) knownDigest() (string, error) {
	text, err := userfile.ReadFile(s.path("user.key.id"), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

func digest(key []byte) string { return hex.EncodeToString(Derive(key, "key id")[:8]) }

// errNotFound is wrapped by the error of find if no place has a key.
var errNotFound = errors.New("no key")

func (s *Source) find() ([]byte, error) {
	if text, ok := s.options.Env(Variable); ok && text != "" {
		return decode("$"+Variable, text)
	}
	key, err := s.readFile()
	if key != nil || err != nil {
		return key, err
	}
	text, err := s.options.Keyring.Get()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotFound, err)
	}
	return decode("the keyring", text)
}

func (s *Source) create() ([]byte, error) {
	key := make([]byte, Size)
	_, _ = rand.Read(key) // never fails
	text := base64.StdEncoding.EncodeToString(key)
	if s.options.Keyring.Set(text) == nil {
		return key, nil
	}
	if err := userfile.WriteFile(s.path("user.key"), []byte(text+"\n")); err != nil {
		return nil, err
	}
	s.options.OnKeyFile(s.path("user.key"))
	return key, nil
}

// readFile returns the key in the file, nil if there is no file.
func (s *Source) readFile() ([]byte, error) {
	path := s.path("user.key")
	text, err := userfile.ReadFile(path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = userfile.CheckPrivate(path)
	}
	if err != nil {
		return nil, err
	}
	return decode(path, string(text))
}

// decode decodes a key. Its errors contain nothing of it.
func decode(place, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != Size {
		return nil, fmt.Errorf("%s: want %d bytes in base64", place, Size)
	}
	return key, nil
}
