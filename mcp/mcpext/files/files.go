// Package files serves the files and directories below one directory as resources.
//
//	root, err := os.OpenRoot("/srv/docs")
//	...
//	served, err := files.Serve(srv, "file:///docs/", root, nil)
//	...
//	err = served.Rescan() // when files were added or removed
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Files are the files and directories below one directory, served as resources.
// Serve makes them. Their methods are safe for concurrent use.
type Files struct {
	server    *mcpserver.Server
	base      string // of every URI; ends with a slash
	name      string // of the root
	tree      tree
	maxSize   int64
	resources *mcpserver.ResourceGroup
	scans     atomic.Int64                        // numbers the scans in the order in which they begin
	completer atomic.Pointer[mcpserver.Completer] // of the paths that the last scan has found

	mu     sync.Mutex             // held only within Server.Change, so that nothing is announced under it
	shown  int64                  // guarded by mu: number of the scan that is listed
	listed map[string]fileVersion // guarded by mu: by URI
}

// fileVersion differs after a file was modified.
type fileVersion struct {
	size     int64
	modified time.Time // in UTC
}

// Options are the options of Serve. Nil means the defaults.
type Options struct {
	// Hidden also serves names that begin with a dot. By default they are left out to
	// keep lists short. This is no protection: do not store secrets below the root.
	Hidden bool
	// MaxSize is the limit of a file that is read, in bytes; reading a larger one is
	// an error. Default: 8 MiB.
	MaxSize int64
	// MaxListed is the limit of the resources that are listed, and of the entries of
	// one directory. Other files can be read by their URIs. Default: 10,000.
	MaxListed int
}

func (o *Options) hidden() bool { return o != nil && o.Hidden }

func (o *Options) maxSize() int64 {
	if o == nil || o.MaxSize <= 0 {
		return 8 << 20
	}
	return o.MaxSize
}

func (o *Options) maxListed() int {
	if o == nil || o.MaxListed <= 0 {
		return 10_000
	}
	return o.MaxListed
}

// Serve registers the files and directories below root as resources under base, a
// URI that ends with a slash, such as file:///docs/. The file "a/b c.md" becomes
// file:///docs/a/b%20c.md; a directory ends with a slash, has the type
// inode/directory, and reads as the URIs of its entries, one on each line. Files
// that are not listed, because they are new or too many, are read through the
// template base{+path}, whose path is completed.
//
// Files outside of root are never read, even if URIs or symbolic links point to them. A
// link to a file or directory inside of root is served as its target; a directory behind
// a link is not searched. Only files and directories are served. The MIME type depends on
// the extension, or else on the first bytes at the time of reading. The options, such as
// mcpserver.Visible, apply to every file. If the server already has a resource at the URI
// of a file, that one is served.
//
// Only Rescan changes the list. Serve returns an error if root cannot be read, or if an
// option is invalid for files. It panics if base is invalid or is served already. The
// caller closes root after the server is closed.
func Serve(srv *mcpserver.Server, base string, root *os.Root, o *Options, opts ...mcpserver.ResourceOption) (*Files, error) {
	name, err := nameOfBase(base)
	if err != nil {
		panic(fmt.Sprintf("files %q: %v", base, err))
	}
	f := &Files{
		server: srv, base: base, name: name,
		tree: tree{root, o.hidden(), o.maxListed()}, maxSize: o.maxSize(),
	}
	f.resources = srv.ResourceGroup(f.read, opts...)
	scan := f.scans.Add(1)
	found, err := f.tree.walk()
	if err != nil {
		return nil, f.error(err)
	}
	f.completer.Store(new(mcpserver.Prefix()))
	complete := mcpserver.CompleteArg("path", func(ctx context.Context, c mcpserver.CompletionRequest) ([]string, error) {
		return (*f.completer.Load())(ctx, c)
	})
	unchecked := mcpserver.UncheckedVariables("path") // the os.Root decides what is outside of it
	srv.BatchChanges(func() {
		srv.AddTemplate(mcp.ResourceTemplate{
			URITemplate: base + "{+path}",
			Name:        name,
			Description: fmt.Sprintf("A file below %s, or a directory, whose path ends with a slash.", base),
		}, f.read, append([]mcpserver.ResourceOption{complete, unchecked}, opts...)...)
		_, err = f.show(scan, found)
	})
	if err != nil {
		return nil, f.error(err)
	}
	return f, nil
}

func (f *Files) error(err error) error { return fmt.Errorf("files %q: %w", f.base, err) }

// nameOfBase returns the name of the root, and checks that URIs and a template can be made
// by appending to base.
func nameOfBase(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "", err
	case u.Scheme == "" || u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(u.Path, "/"):
		return "", errors.New("base: want a scheme, and a path that ends with a slash, such as file:///docs/")
	case u.String() != base:
		return "", fmt.Errorf("base: want it in its encoded form: %s", u)
	}
	return path.Base(u.Path), nil
}

// Rescan updates the list to the current files. Clients get one notification about all
// files that were added and removed, and subscribers one about each file that was
// modified. If Rescan returns an error, the list does not change. If several calls
// overlap, the one that began last determines the list.
func (f *Files) Rescan() error {
	scan := f.scans.Add(1)
	found, err := f.tree.walk()
	if err != nil {
		return f.error(err)
	}
	var modified []string
	f.server.BatchChanges(func() { modified, err = f.show(scan, found) })
	if err != nil {
		return f.error(err)
	}
	for _, uri := range modified {
		f.server.Updated(uri)
	}
	return nil
}

// show lists the entries that a scan has found, unless a later scan is listed already.
// It returns the URIs of the files that were modified since the scan before. The caller
// is in Server.Change.
func (f *Files) show(scan int64, found []entry) (modified []string, err error) {
	resources, versions, completer := f.describe(found)
	f.mu.Lock()
	defer f.mu.Unlock()
	if scan < f.shown {
		return nil, nil
	}
	taken, err := f.resources.Set(resources)
	if err != nil {
		return nil, err
	}
	for _, uri := range taken {
		delete(versions, uri)
	}
	for uri, version := range versions {
		if before, ok := f.listed[uri]; ok && before != version {
			modified = append(modified, uri)
		}
	}
	f.shown, f.listed = scan, versions
	f.completer.Store(completer)
	slices.Sort(modified)
	return modified, nil
}

// describe returns the resources of the entries, the versions of their files by URI,
// and a completer of their paths.
func (f *Files) describe(found []entry) (resources []mcp.Resource, versions map[string]fileVersion, completer *mcpserver.Completer) {
	versions = make(map[string]fileVersion, len(found))
	var paths []string
	for _, e := range found {
		r := f.resource(e)
		resources = append(resources, r)
		versions[r.URI] = fileVersion{e.info.Size(), e.modified()}
		switch {
		case e.path == ".":
		case e.isDir():
			paths = append(paths, e.path+"/")
		default:
			paths = append(paths, e.path)
		}
	}
	slices.Sort(paths)
	return resources, versions, new(mcpserver.Prefix(paths...))
}

// resource returns the definition of the resource of an entry.
func (f *Files) resource(e entry) mcp.Resource {
	r := mcp.Resource{
		URI: f.uri(e), Name: e.path, MIMEType: e.mimeType(),
		Annotations: &mcp.Annotations{LastModified: e.modified().Format(time.RFC3339)},
	}
	if !e.isDir() {
		r.Size = new(e.info.Size())
	}
	if e.path == "." {
		r.Name = f.name
	}
	return r
}

// uri returns the URI of an entry.
func (f *Files) uri(e entry) string {
	if e.path == "." {
		return f.base
	}
	segments := strings.Split(e.path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	uri := f.base + strings.Join(segments, "/")
	if e.isDir() {
		uri += "/"
	}
	return uri
}

// pathOf returns the path below the root of a URI, and false if it has none. Equivalent
// spellings of a URI have the same path.
func (f *Files) pathOf(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, f.base)
	if !ok || strings.ContainsAny(rest, "?#") {
		return "", false
	}
	if rest == "" {
		return ".", true
	}
	segments := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for i, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil || strings.Contains(name, "/") || !f.tree.serves(name) {
			return "", false
		}
		segments[i] = name
	}
	p := strings.Join(segments, "/")
	return p, p != "." && fs.ValidPath(p)
}
