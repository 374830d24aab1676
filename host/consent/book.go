// Package consent keeps what the user has approved: the programs that may be
// started as servers, and the definitions of tools that may be offered.
//
// A program is approved as it is: its command, arguments, working directory, the
// names of its variables, and the content of its file. When one of them changes
// it has to be approved again. What it is called, and what other programs'
// configurations say of trust, counts for nothing.
//
// The tools of a server are pinned when they are seen for the first time after
// its program was approved. A tool whose definition changes later is withheld
// until the change is approved.
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

// Book is a directory with what the user has approved, one file for each server.
// Several processes may use it at once. All methods are safe for concurrent use.
type Book struct{ dir string }

// Open returns the book in a directory, which is made if there is none.
func Open(dir string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return &Book{dir}, nil
}

// Stamp differs from an earlier one when something was written since.
func (b *Book) Stamp() time.Time {
	info, err := os.Stat(b.dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// record is the content of one file.
type record struct {
	// Server is the command or the URL, for people.
	Server string `json:"server"`
	// Programs are those that were approved, by digest. It is empty for servers
	// that are not started.
	Programs map[string]approved `json:"programs,omitempty"`
	Tools    map[string]pin      `json:"tools,omitempty"`
}

type approved struct {
	At      time.Time `json:"at"`
	Program Program   `json:"program"`
}

// ProgramOf returns the program of an upstream as it would be started now, and
// false for one that is not started but reached. The error says why it cannot be
// started.
func (b *Book) ProgramOf(u *host.Upstream) (Program, bool, error) {
	t, ok := u.Target.(*mcpclient.CommandTarget)
	if !ok {
		return Program{}, false, nil
	}
	p, err := programOf(t)
	return p, true, err
}

// Approved reports whether the program of an upstream may be started as it is.
func (b *Book) Approved(u *host.Upstream, p Program) (bool, error) {
	r, err := b.read(u)
	if err != nil {
		return false, err
	}
	_, ok := r.Programs[p.digest()]
	return ok, nil
}

// Approve lets the program of an upstream be started as it is described, which is
// what the user has seen.
func (b *Book) Approve(u *host.Upstream, p Program) error {
	return b.change(u, func(r *record) error {
		if r.Programs == nil {
			r.Programs = make(map[string]approved)
		}
		r.Programs[p.digest()] = approved{time.Now().UTC(), p}
		return nil
	})
}

// Admit returns the target to start or to connect to: for a program the file that
// was approved, wherever else its name might lead in a moment. The error of one
// that was not approved wraps host.ErrNeedsApproval.
func (b *Book) Admit(u *host.Upstream) (mcpclient.Target, error) {
	p, isProgram, err := b.ProgramOf(u)
	if err != nil || !isProgram {
		return u.Target, err
	}
	switch ok, err := b.Approved(u, p); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%w: %s", host.ErrNeedsApproval, p)
	}
	t := *u.Target.(*mcpclient.CommandTarget)
	t.Path = p.File
	return &t, nil
}

// path is that of an upstream's file. Its name begins with the key for people
// alone: the same key in front of another server is another file.
func (b *Book) path(u *host.Upstream) string {
	return filepath.Join(b.dir, u.Key+"-"+identityOf(u)[:16]+".json")
}

func identityOf(u *host.Upstream) string {
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		return Program{Command: t.Path, Args: t.Args, Dir: t.Dir}.identity()
	}
	return digestOf(u.Target.String())
}

// read returns the record of an upstream, an empty one when there is none.
func (b *Book) read(u *host.Upstream) (*record, error) {
	r := &record{Server: describe(u)}
	text, err := os.ReadFile(b.path(u))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return nil, fmt.Errorf("approvals: %w", err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("approvals: %s: %w; remove the file to approve anew", b.path(u), err)
	}
	for name, p := range r.Tools {
		if err := errors.Join(canonicalize(&p.Definition), canonicalize(&p.Changed)); err != nil {
			return nil, fmt.Errorf("approvals: %s: %w", b.path(u), err)
		}
		r.Tools[name] = p
	}
	return r, nil
}

func describe(u *host.Upstream) string {
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		return Program{Command: t.Path, Args: t.Args}.String()
	}
	return u.Target.String()
}

// errUnchanged ends a change that has nothing to write.
var errUnchanged = errors.New("unchanged")

// change reads the record of an upstream, has it edited, and writes it back, while
// no other process does the same. A crash leaves the old record or the new one.
func (b *Book) change(u *host.Upstream, edit func(*record) error) error {
	unlock, err := lock(filepath.Join(b.dir, ".lock"))
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	defer unlock()
	r, err := b.read(u)
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
	if err := replace(b.path(u), append(text, '\n')); err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return nil
}

// replace writes a file that only the user can read, whole or not at all.
func replace(path string, content []byte) error {
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

// quote makes a word of a command that can be read, and pasted into a shell, for
// what it is: what is not printable is shown as an escape.
func quote(word string) string {
	plain := word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-") == ""
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(host.Visible(word), "'", `'\''`) + "'"
}
