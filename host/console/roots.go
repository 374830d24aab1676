package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Roots are the directories that a server gets as roots, as the configuration has them now.
type Roots struct {
	// File is the path of the configuration, and Project says that it belongs to a project: a change needs an approval.
	File    string
	Project bool
	// Client says whether the server gets the roots of its client as well.
	Client bool
	// Dirs are absolute paths.
	Dirs []string
	// Problem says why they cannot be changed here; empty if they can.
	Problem string
	// NeedsCode: a host shows codes, and one is needed for a new root.
	NeedsCode bool
}

// RootSource is what the page of a server needs for its roots.
type RootSource interface {
	// Roots returns the roots of a server, nil for one that is in no configuration.
	Roots(ctx context.Context, server string) *Roots
	// AddRoot adds a directory, an absolute path, to the roots of a server, as "fondaco roots add" does. It needs the
	// code of ShowRootCode while a host shows codes.
	AddRoot(ctx context.Context, server, dir, code string) error
	// RemoveRoot removes a directory from them.
	RemoveRoot(server, dir string) error
	// ShowRootCode makes a host show the code for AddRoot.
	ShowRootCode(ctx context.Context, server, dir string) error
}

// Root is a directory on the page of a server.
type Root struct{ Dir string }

// ID identifies the directory in a form. The path itself may have characters that a page does not show.
func (r Root) ID() string {
	sum := sha256.Sum256([]byte(r.Dir))
	return hex.EncodeToString(sum[:8])
}

// All are the directories with their identifiers.
func (r *Roots) All() (all []Root) {
	for _, dir := range r.Dirs {
		all = append(all, Root{dir})
	}
	return all
}

var errNoRoot = errors.New("it is no root of the server any more; the roots that it has now are below")

// addRoot adds a root to a server, or shows the code that this needs.
func (c *Console) addRoot(w http.ResponseWriter, r *http.Request, s *session, name string) {
	dir := strings.TrimSpace(r.PostForm.Get("dir"))
	page := s.path() + "servers/" + name
	if r.PostForm.Get("do") == "code" {
		if err := c.source.ShowRootCode(r.Context(), name, dir); err != nil {
			c.showServer(w, r, s, &view{Message: "No code is shown: " + shown(err.Error()), Failed: true})
			return
		}
		http.Redirect(w, r, page+"?"+url.Values{"did": {"code"}, "dir": {dir}}.Encode()+"#roots", http.StatusSeeOther)
		return
	}
	if err := c.source.AddRoot(r.Context(), name, dir, r.PostForm.Get("code")); err != nil {
		c.showServer(w, r, s, &view{Message: "The root was not added: " + shown(err.Error()), Failed: true})
		return
	}
	http.Redirect(w, r, page+"?did=root#roots", http.StatusSeeOther)
}

// removeRoot removes a root from a server.
func (c *Console) removeRoot(w http.ResponseWriter, r *http.Request, s *session, name string) {
	err := errNoRoot
	if known := c.source.Roots(r.Context(), name); known != nil {
		for _, root := range known.All() {
			if root.ID() == r.PostForm.Get("root") {
				err = c.source.RemoveRoot(name, root.Dir)
				break
			}
		}
	}
	if err != nil {
		c.showServer(w, r, s, &view{Message: "The root was not removed: " + shown(err.Error()), Failed: true})
		return
	}
	http.Redirect(w, r, s.path()+"servers/"+name+"?did=root#roots", http.StatusSeeOther)
}
