package definition

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// LockFile is the name of the file in the directory of a project that says what its servers
// are. It approves nothing: what differs from it is refused, and what equals it still waits
// for the user, because who can change the project can change the file.
const LockFile = "fondaco.lock"

// maxLock limits a lock file, in bytes.
const maxLock = 16 << 20

// lockFormat is the number of the format of lock files.
const lockFormat = 2

// Lock is the content of a lock file.
type Lock struct {
	Format  int                     `json:"format"`
	Servers map[string]LockedServer `json:"servers"`

	// listed says that the definitions are those that one client gets. A definition with several
	// forms has only one of them, so Differences accepts any locked form.
	listed bool
}

// ReadLock returns the lock file of a project, or nil if there is none.
func ReadLock(project string) (*Lock, error) {
	name := filepath.Join(project, LockFile)
	if err := userfile.CheckLocal(name, project); err != nil { // it may be a symbolic link
		return nil, fmt.Errorf("lock file: %w", err)
	}
	switch info, err := os.Stat(name); { // before it is opened, because that waits for a named pipe
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("lock file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("lock file: %s: want a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLock+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock file: %s: %w", name, err)
	case len(text) > maxLock:
		return nil, fmt.Errorf("lock file: %s: more than %d bytes", name, maxLock)
	}
	l := new(Lock)
	if err := json.Unmarshal(text, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("lock file: %s: %w; fondaco lock writes it anew", name, err)
	}
	if l.Format != lockFormat {
		return nil, fmt.Errorf("lock file: %s: found format %d, want %d; fondaco lock writes it anew", name, l.Format, lockFormat)
	}
	return l, nil
}

// Encode returns the text of a lock file.
func (l *Lock) Encode() ([]byte, error) {
	text, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// CheckLock returns an error that names what differs if the project of an upstream has a lock
// file, and the upstream is started or reached in another way than that says. Its files are compared
// once they are known, which is when it was admitted.
func CheckLock(u *host.Upstream) error {
	if u.Origin.Project == "" {
		return nil
	}
	l, err := ReadLock(u.Origin.Project)
	if err != nil || l == nil {
		return err
	}
	locked, ok := l.Servers[u.Key]
	if !ok {
		return fmt.Errorf("server %q: it is not in %s; fondaco lock adds it", u.Key, LockFile)
	}
	if differ := locked.differences(lockedServer(u)); len(differ) > 0 {
		return fmt.Errorf("server %q: it differs from %s: %s", u.Key, LockFile, strings.Join(differ, "; "))
	}
	return nil
}

// lockOf returns what the lock file of the project says of an upstream, or nil if there is no
// such file.
func lockOf(u *host.Upstream) (*LockedServer, error) {
	if u.Origin.Project == "" {
		return nil, nil
	}
	l, err := ReadLock(u.Origin.Project)
	if err != nil || l == nil {
		return nil, err
	}
	locked := l.Servers[u.Key] // without it nothing equals
	return &locked, nil
}

// has reports whether a definition equals the locked one.
func (l *LockedServer) has(i *item) bool { return slices.Contains(l.Definitions[i.id()], i.digest) }

// Lock returns the lock of upstreams with the definitions that the user has approved. The Files of
// programs have to be set. It fails for an upstream of which something waits, or nothing was approved.
func (s *Store) Lock(ctx context.Context, upstreams []host.Upstream) (*Lock, error) {
	l := &Lock{Format: lockFormat, Servers: make(map[string]LockedServer)}
	var failed []error
	for i := range upstreams {
		u := &upstreams[i]
		r, err := s.read(ctx, u)
		switch {
		case err != nil:
			return nil, err
		case r.approved.Since.IsZero():
			failed = append(failed, fmt.Errorf("server %q: its definitions are not approved; start it, and approve them with \"fondaco approve %s\"", u.Key, u.Key))
			continue
		case slices.ContainsFunc(r.waiting.Items, func(w waitingItem) bool { return !r.isApproved(&w) }):
			failed = append(failed, fmt.Errorf("server %q: definitions wait for approval", u.Key))
			continue
		}
		locked := lockedServer(u)
		locked.Version, locked.Definitions = r.approved.Version, make(map[string][]string)
		for id, a := range r.approved.Approved {
			if !a.Gone && !slices.Contains(r.waiting.Removed, id) {
				locked.Definitions[id] = a.digests()
			}
		}
		l.Servers[u.Key] = locked
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return l, nil
}

// Listed returns the lock of upstreams with the definitions that they list now, approved or not.
// Of an upstream that is not started it has no definitions, and Differences compares none.
func (s *Store) Listed(ctx context.Context, upstreams []host.Upstream, isStarted func(key string) bool) (*Lock, error) {
	l := &Lock{Format: lockFormat, Servers: make(map[string]LockedServer), listed: true}
	for i := range upstreams {
		u := &upstreams[i]
		locked := lockedServer(u)
		if isStarted(u.Key) {
			r, err := s.read(ctx, u)
			if err != nil {
				return nil, err
			}
			locked.Definitions = r.listed()
		}
		l.Servers[u.Key] = locked
	}
	return l, nil
}

// listed returns the digests of what an upstream lists, by id.
func (r *stored) listed() map[string][]string {
	all := make(map[string][]string)
	for id, a := range r.approved.Approved {
		if !a.Gone && !slices.Contains(r.waiting.Removed, id) {
			all[id] = a.digests()
		}
	}
	for i := range r.waiting.Items {
		w := &r.waiting.Items[i]
		all[w.id()] = append(all[w.id()], w.Digest)
	}
	return all
}

// Differences names what differs between two locks, for people.
func (l *Lock) Differences(now *Lock) (texts []string) {
	isAsLocked := slices.Equal[[]string]
	if now.listed {
		isAsLocked = func(old, now []string) bool { return isSubset(now, old) }
	}
	for _, key := range sortedKeys(l.Servers, now.Servers) {
		before, had := l.Servers[key]
		after, has := now.Servers[key]
		switch {
		case !had:
			texts = append(texts, fmt.Sprintf("server %q is not locked", key))
			continue
		case !has:
			texts = append(texts, fmt.Sprintf("server %q is locked, and not configured", key))
			continue
		}
		for _, text := range before.differences(after) {
			texts = append(texts, fmt.Sprintf("server %q: %s", key, text))
		}
		if after.Definitions == nil {
			continue
		}
		for _, id := range sortedKeys(before.Definitions, after.Definitions) {
			kind, name := cutID(id)
			what := fmt.Sprintf("server %q: %s", key, kind)
			if name != "" {
				what += fmt.Sprintf(" %q", name)
			}
			switch old, now := before.Definitions[id], after.Definitions[id]; {
			case old == nil:
				texts = append(texts, what+" is not locked")
			case now == nil:
				texts = append(texts, what+" is locked, and not listed")
			case !isAsLocked(old, now):
				texts = append(texts, what+" has changed")
			}
		}
	}
	return texts
}

// isSubset reports whether each digest of one list is in another.
func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(digest string) bool { return !slices.Contains(all, digest) })
}

func sortedKeys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = make(map[string]V)
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
