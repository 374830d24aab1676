// Package tokenfile authenticates clients of the host by a file of bearer tokens:
//
//	# name:token, or name:sha256:digest of the token in hexadecimal
//	laptop:V8J2c0mZr6l1pQeXw7Ty
//	robot:sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
package tokenfile

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
)

// minToken is the minimum length of a token in characters, so that it cannot be guessed.
const minToken = 20

// maxSize limits the file in bytes.
const maxSize = 1 << 20

// ErrUnknown is the error for a token that is not in the file.
var ErrUnknown = errors.New("the token is not in the file")

// File is a file of tokens. It is read again when it has changed. While it cannot be
// read, every token is refused. All methods are safe for concurrent use.
type File struct {
	path string

	mu      sync.Mutex // guards the fields below
	read    version
	holders []holder
}

// holder is the owner of a token.
type holder struct {
	name   string
	digest [sha256.Size]byte
}

// version identifies one state of the file.
type version struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
}

// Open reads the file at the path. It fails if other users can read or replace the file,
// or if it has no token.
func Open(path string) (*File, error) {
	f := &File{path: path}
	if _, err := f.current(); err != nil {
		return nil, err
	}
	return f, nil
}

// Holder returns the name of the token's owner. The comparison takes the same time for
// every token. The error is ErrUnknown if no line has the token; every other error is
// about the file.
func (f *File) Holder(token string) (name string, err error) {
	holders, err := f.current()
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(token))
	for _, h := range holders {
		if subtle.ConstantTimeCompare(h.digest[:], digest[:]) == 1 {
			name = h.name
		}
	}
	if name == "" {
		return "", ErrUnknown
	}
	return name, nil
}

// current returns the holders in the current file.
func (f *File) current() ([]holder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	now := version{info.ModTime(), info.Size(), info.Mode()}
	if now == f.read {
		return f.holders, nil
	}
	if err := userfile.CheckPrivate(f.path); err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	text, err := userfile.ReadFile(f.path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if text, err = userfile.Text(text); err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", f.path, err)
	}
	holders, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("tokens: %s:%w", f.path, err)
	}
	f.read, f.holders = now, holders
	return holders, nil
}

// parse parses the lines. Errors give line numbers and contain nothing of a token.
func parse(text string) (holders []holder, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		h, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		if slices.ContainsFunc(holders, func(other holder) bool { return other.digest == h.digest }) {
			return nil, fmt.Errorf("%d: found the token of another line, want a different one for each name", number)
		}
		holders = append(holders, h)
	}
	if len(holders) == 0 {
		return nil, fmt.Errorf("%d: no token, want a line NAME:TOKEN", max(number, 1))
	}
	return holders, nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func parseLine(line string) (holder, error) {
	name, token, ok := strings.Cut(line, ":")
	if !ok || !validName.MatchString(name) {
		return holder{}, errors.New("want NAME:TOKEN, the name of 1 to 64 letters, digits, '.', '_', '@' and '-'")
	}
	digest, hashed := strings.CutPrefix(token, "sha256:")
	if !hashed {
		if len(token) < minToken || strings.ContainsAny(token, " \t:") {
			return holder{}, fmt.Errorf("want a token of at least %d characters without spaces and colons, such as that of openssl rand -hex 32", minToken)
		}
		return holder{name, sha256.Sum256([]byte(token))}, nil
	}
	h := holder{name: name}
	if n, err := hex.Decode(h.digest[:], []byte(digest)); err != nil || n != len(h.digest) || len(digest) != 2*len(h.digest) {
		return holder{}, fmt.Errorf("after sha256: want %d hexadecimal digits", 2*len(h.digest))
	}
	return h, nil
}
