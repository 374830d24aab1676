// Package consent stores what the user has approved: programs that may be started as
// servers, and definitions of tools that clients may see.
//
// The approval of a program covers its command, arguments, working directory, the names
// of its variables, and the content of its file. When one of them changes it must be
// approved again. Its name, and what other programs' configurations say about trust, do
// not count.
//
// The tools of a server are pinned when they are first listed after its program was
// approved. A tool whose definition changes later is withheld until the change is
// approved.
package consent

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Store is a directory of approvals, one file for each server. Several processes may use
// it at once. All methods are safe for concurrent use.
type Store struct{ dir string }

// Open returns the store in a directory, and creates the directory if necessary.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return &Store{dir}, nil
}

// ModTime changes whenever an approval was written. It is zero if the directory cannot be
// read.
func (s *Store) ModTime() time.Time {
	info, err := os.Stat(s.dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// record is the content of one file.
type record struct {
	// Server is the command or the URL, for people who read the file.
	Server string `json:"server"`
	// Programs are the approved programs by digest. It is empty for remote servers.
	Programs map[string]approvedProgram `json:"programs,omitempty"`
	Tools    map[string]pin             `json:"tools,omitempty"`
}

type approvedProgram struct {
	At      time.Time `json:"at"`
	Program Program   `json:"program"`
}

// ProgramOf returns the program of an upstream as it would be started now, and false for
// a remote upstream. The error says why the program cannot be started.
func (s *Store) ProgramOf(u *host.Upstream) (Program, bool, error) {
	t, ok := u.Target.(*mcpclient.CommandTarget)
	if !ok {
		return Program{}, false, nil
	}
	p, err := programOf(t)
	return p, true, err
}

// Approved reports whether the program of an upstream may be started.
func (s *Store) Approved(u *host.Upstream, p Program) (bool, error) {
	r, err := s.read(u)
	if err != nil {
		return false, err
	}
	_, ok := r.Programs[p.digest()]
	return ok, nil
}

// Approve approves the program of an upstream as described by p, which is what the user
// has seen.
func (s *Store) Approve(u *host.Upstream, p Program) error {
	return s.update(u, func(r *record) error {
		if r.Programs == nil {
			r.Programs = make(map[string]approvedProgram)
		}
		r.Programs[p.digest()] = approvedProgram{time.Now().UTC(), p}
		return nil
	})
}

// Admit returns the target to start or to connect to. For a program it names the approved
// file, so that the command cannot resolve to another file between check and start. If
// the program is not approved the error wraps host.ErrNeedsApproval.
func (s *Store) Admit(u *host.Upstream) (mcpclient.Target, error) {
	p, isProgram, err := s.ProgramOf(u)
	if err != nil || !isProgram {
		return u.Target, err
	}
	switch ok, err := s.Approved(u, p); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%w: %s", host.ErrNeedsApproval, p)
	}
	t := *u.Target.(*mcpclient.CommandTarget)
	t.Path = p.File
	return &t, nil
}

// path returns the file of an upstream. The key in its name is for people; the digest
// distinguishes servers that had the same key at different times.
func (s *Store) path(u *host.Upstream) string {
	return filepath.Join(s.dir, u.Key+"-"+identityOf(u)[:16]+".json")
}

func identityOf(u *host.Upstream) string {
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		return Program{Command: t.Path, Args: t.Args, Dir: t.Dir}.identity()
	}
	return digestOf(u.Target.String())
}

// read returns the record of an upstream, an empty one if there is no file.
func (s *Store) read(u *host.Upstream) (*record, error) {
	r := &record{Server: serverName(u)}
	text, err := os.ReadFile(s.path(u))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return nil, fmt.Errorf("approvals: %w", err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("approvals: %s: %w; remove the file to approve anew", s.path(u), err)
	}
	for name, p := range r.Tools {
		if err := errors.Join(canonicalize(&p.Definition), canonicalize(&p.Changed)); err != nil {
			return nil, fmt.Errorf("approvals: %s: %w", s.path(u), err)
		}
		r.Tools[name] = p
	}
	return r, nil
}

func serverName(u *host.Upstream) string {
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		return Program{Command: t.Path, Args: t.Args}.String()
	}
	return u.Target.String()
}

// errUnchanged ends an update that has nothing to write.
var errUnchanged = errors.New("unchanged")

// update reads the record of an upstream, edits it, and writes it back, under a lock
// between processes. After a crash the file has the old content or the new one.
func (s *Store) update(u *host.Upstream, edit func(*record) error) error {
	unlock, err := lock(filepath.Join(s.dir, ".lock"))
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	defer unlock()
	r, err := s.read(u)
	if err != nil {
		return err
	}
	switch err := edit(r); {
	case errors.Is(err, errUnchanged):
		return nil
	case err != nil:
		return err
	}
	text, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	if err := writeFileAtomic(s.path(u), append(text, '\n')); err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return nil
}

// writeFileAtomic writes a file with mode 0600, completely or not at all.
func writeFileAtomic(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// shellQuote quotes a word of a command for display and for a shell. Unprintable
// characters are shown as escapes.
func shellQuote(word string) string {
	plain := word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-") == ""
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(host.EscapeUnprintable(word), "'", `'\''`) + "'"
}
