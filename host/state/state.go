// Package state stores what the host remembers for its user: an mcp.Store in a directory,
// one file for each key.
//
// Files are encrypted and authenticated with the user's key, so a record that was edited,
// damaged or copied from another key is an error and never a different decision. An earlier
// record of the same key is valid, so who can write the files can undo a decision by it. Files
// and directories that others own or can write to are refused.
package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
)

const (
	maxKey   = 256
	maxValue = 1 << 20
	// maxEntries limits the entries of one section, expired ones excluded.
	maxEntries = 10_000
)

// Store is an mcp.Store in a directory. Several processes may use it at once. A key's
// section is the text before its first "/"; each section is a subdirectory of up to 10,000
// entries. Operations wait at most 5 seconds for another process. All methods are safe for
// concurrent use.
type Store struct {
	dir  string
	seal sealer
}

var _ mcp.Store = (*Store)(nil)

// Open returns the store in a directory, which is created by the first write. key returns
// the user's key; it is called when there is something to read or to write.
func Open(dir string, key func(context.Context) ([]byte, error)) *Store {
	return &Store{dir: dir, seal: sealer{key: key}}
}

// Version changes whenever an entry of a section was written or deleted, except twice within one
// step of the file system's clock. It is empty if the section is empty or cannot be read.
func (s *Store) Version(section string) string {
	info, err := os.Stat(filepath.Join(s.dir, sectionOf(section+"/")))
	if err != nil {
		return ""
	}
	return info.ModTime().Format(time.RFC3339Nano)
}

// Get implements mcp.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	e, err := s.read(ctx, key)
	return e.value, e.live(), wrap(err)
}

// Put implements mcp.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.change(ctx, key, func(entry) bool { return true }, value, ttl)
	return wrap(err)
}

// Create implements mcp.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	created, err = s.change(ctx, key, func(e entry) bool { return !e.live() }, value, ttl)
	return created, wrap(err)
}

// Swap implements mcp.Store.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	swapped, err = s.change(ctx, key, func(e entry) bool { return e.live() && bytes.Equal(e.value, old) }, value, ttl)
	return swapped, wrap(err)
}

// Delete implements mcp.Store. It also removes an entry that cannot be read.
func (s *Store) Delete(ctx context.Context, key string) error {
	section := filepath.Join(s.dir, sectionOf(key))
	if _, err := os.Stat(section); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return wrap(err)
	}
	defer unlock()
	if err := os.Remove(filepath.Join(section, fileName(key))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap(err)
	}
	return nil
}

// List implements mcp.Store. Each call reads all entries of the sections concerned.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	sections, err := s.sections(prefix)
	if err != nil {
		return nil, wrap(err)
	}
	var keys []string
	for _, section := range sections {
		entries, err := s.readSection(ctx, section)
		if err != nil {
			return nil, wrap(err)
		}
		for _, e := range entries {
			if e.live() && strings.HasPrefix(e.key, prefix) && e.key > after {
				keys = append(keys, e.key)
			}
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), max(limit, 0))], nil
}

// read returns the entry of a key, the zero entry if there is none.
func (s *Store) read(ctx context.Context, key string) (entry, error) {
	if err := checkKey(key); err != nil {
		return entry{}, err
	}
	e, err := s.readFile(ctx, filepath.Join(s.dir, sectionOf(key), fileName(key)))
	if err == nil && e.key != "" && e.key != key {
		err = fmt.Errorf("%s is the entry of another key", fileName(key))
	}
	return e, err
}

// readFile returns the entry in a file, the zero entry if the file does not exist.
func (s *Store) readFile(ctx context.Context, path string) (entry, error) {
	sealed, err := userfile.ReadFile(path, maxValue+maxKey+1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	return s.seal.open(ctx, path, sealed)
}

// change writes a value if the present entry fulfils a condition.
func (s *Store) change(ctx context.Context, key string, condition func(entry) bool, value []byte, ttl time.Duration) (changed bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	if len(value) > maxValue {
		return false, fmt.Errorf("a value of %d bytes; want at most %d", len(value), maxValue)
	}
	if ttl < 0 {
		return false, fmt.Errorf("a time to live of %v; want 0 or more", ttl)
	}
	section := filepath.Join(s.dir, sectionOf(key))
	if err := userfile.MkdirAll(section); err != nil {
		return false, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	present, err := s.read(ctx, key)
	if err != nil || !condition(present) {
		return false, err
	}
	if present.key == "" {
		if err := s.makeRoom(ctx, section); err != nil {
			return false, err
		}
	}
	e := entry{key: key, value: value}
	if ttl > 0 {
		e.expires = time.Now().Add(ttl)
	}
	path := filepath.Join(section, fileName(key))
	sealed, err := s.seal.close(ctx, path, e)
	if err != nil {
		return false, err
	}
	return true, userfile.WriteFile(path, sealed)
}

// RemoveExpired removes the expired entries of a section, which otherwise stay until the section is full. It leaves what it
// cannot read, and waits for other processes for each entry that it removes, not for all together.
func (s *Store) RemoveExpired(ctx context.Context, section string) error {
	dir := filepath.Join(s.dir, sectionOf(section+"/"))
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") { // a file that is being written
			continue
		}
		path := filepath.Join(dir, f.Name())
		if e, failed := s.readFile(ctx, path); failed == nil && !e.live() {
			err = errors.Join(err, s.removeExpired(ctx, path))
		}
	}
	return wrap(err)
}

// removeExpired removes the entry in a file, unless it was written again.
func (s *Store) removeExpired(ctx context.Context, path string) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if e, err := s.readFile(ctx, path); err != nil || e.key == "" || e.live() {
		return err
	}
	return os.Remove(path)
}

// makeRoom returns an error if a section is full after its expired entries were removed.
// The caller holds the lock.
func (s *Store) makeRoom(ctx context.Context, section string) error {
	files, err := os.ReadDir(section)
	if err != nil || len(files) < maxEntries {
		return err
	}
	live := 0
	for _, f := range files {
		path := filepath.Join(section, f.Name())
		if e, err := s.readFile(ctx, path); err == nil && !e.live() {
			_ = os.Remove(path)
		} else {
			live++
		}
	}
	if live >= maxEntries {
		return fmt.Errorf("%s has %d entries, which is the limit", section, live)
	}
	return nil
}

// readSection returns the entries of a section, expired ones included.
func (s *Store) readSection(ctx context.Context, section string) (entries []entry, err error) {
	files, err := os.ReadDir(filepath.Join(s.dir, section))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") { // a file that is being written
			continue
		}
		e, err := s.readFile(ctx, filepath.Join(s.dir, section, f.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, err
}

// sections returns the sections that may have keys with a prefix.
func (s *Store) sections(prefix string) (names []string, err error) {
	if strings.Contains(prefix, "/") {
		return []string{sectionOf(prefix)}, nil
	}
	dirs, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, d := range dirs {
		if d.IsDir() {
			names = append(names, d.Name())
		}
	}
	return names, err
}

func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	return userfile.Lock(ctx, filepath.Join(s.dir, ".lock"))
}

func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("a key of %d bytes; want 1 to %d", len(key), maxKey)
	}
	if strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fmt.Errorf("key %q; want printable ASCII", key)
	}
	return nil
}

// otherSection holds the keys without a section, and those whose section is no safe name of
// a directory.
const otherSection = "_"

// sectionOf returns the section of a key or of a prefix.
func sectionOf(key string) string {
	section, _, ok := strings.Cut(key, "/")
	if !ok || section == "" || len(section) > 64 || strings.Trim(section, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return otherSection
	}
	return section
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}
