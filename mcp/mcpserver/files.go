package mcpserver

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
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Files are the files and directories below one directory, served as resources.
// Server.Files makes one.
type Files struct {
	server    *Server
	base      string // of every URI; ends with a slash
	name      string // of the root
	tree      tree
	maxSize   int64
	options   []ResourceOption
	scans     atomic.Int64              // numbers the scans in the order in which they begin
	completer atomic.Pointer[Completer] // of the paths that are listed

	// Guarded by the lock of the registry, so that the list changes at once.
	shown  int64                 // number of the scan that is listed
	listed map[string]listedFile // by URI
}

// listedFile is an entry of the list, with what tells that the file was modified.
type listedFile struct {
	resource *resource
	size     int64
	modified time.Time
}

// FilesOptions say what is served of a directory. Nil gives the defaults.
type FilesOptions struct {
	// Hidden serves names that begin with a dot too. That they are left out by
	// default is tidiness and no guard: a secret does not belong below the root.
	Hidden bool
	// MaxSize bounds a file that is read, in bytes. Default: 8 MiB.
	MaxSize int64
	// MaxListed bounds the resources that are listed, and the entries of one
	// directory's listing. What is beyond can be read by those who know its name.
	// Default: 10,000.
	MaxListed int
}

func (o *FilesOptions) hidden() bool { return o != nil && o.Hidden }

func (o *FilesOptions) maxSize() int64 {
	if o == nil || o.MaxSize <= 0 {
		return 8 << 20
	}
	return o.MaxSize
}

func (o *FilesOptions) maxListed() int {
	if o == nil || o.MaxListed <= 0 {
		return 10_000
	}
	return o.MaxListed
}

// Files registers the files and directories below root as resources under base, a
// URI that ends with a slash, such as file:///docs/. The file "a/b c.md" becomes
// file:///docs/a/b%20c.md; a directory ends with a slash, has the type
// inode/directory, and reads as the URIs of its entries, one on each line. Files
// that are not listed, because they are new or too many, are read through the
// template base{+path}, whose path is completed.
//
// Nothing outside of root is reached, whatever URIs and symbolic links say. A link
// stands for what it leads to, but a directory behind one is not searched. What is
// neither file nor directory is not served. Types follow the extension, or else
// the first bytes at the time of reading. The options, such as Visible, hold for
// every file.
//
// The list is made now and again by Rescan; the error is that of a root that cannot
// be read. Files panics when base makes no sense or is registered already. root is
// the caller's to close, after the server.
func (s *Server) Files(base string, root *os.Root, o *FilesOptions, opts ...ResourceOption) (*Files, error) {
	name, err := nameOfBase(base)
	if err != nil {
		panic(fmt.Sprintf("files %q: %v", base, err))
	}
	f := &Files{
		server: s, base: base, name: name, options: opts,
		tree: tree{root, o.hidden(), o.maxListed()}, maxSize: o.maxSize(),
	}
	found, err := f.scan()
	if err != nil {
		return nil, fmt.Errorf("files %q: %w", base, err)
	}
	complete := CompleteArg("path", func(ctx context.Context, c Completing) ([]string, error) {
		return (*f.completer.Load())(ctx, c)
	})
	s.Change(func() {
		f.show(f.scans.Add(1), found)
		s.AddTemplate(mcp.ResourceTemplate{
			URITemplate: base + "{+path}",
			Name:        name,
			Description: fmt.Sprintf("A file below %s, or a directory, whose path ends with a slash.", base),
		}, f.read, append([]ResourceOption{complete}, opts...)...)
	})
	return f, nil
}

// nameOfBase returns what to call the root, and makes sure that URIs and a template
// can be made by appending to base.
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

// Rescan brings the list up to date with the directory. Clients hear once of all
// that came and went, and subscribers of each file that was modified. When several
// run at once, the one that began last prevails.
func (f *Files) Rescan() error {
	scan := f.scans.Add(1)
	found, err := f.scan()
	if err != nil {
		return fmt.Errorf("files %q: %w", f.base, err)
	}
	for _, uri := range f.show(scan, found) {
		f.server.Updated(uri)
	}
	return nil
}

// show lists what a scan has found, unless a later scan is listed already, and
// returns the URIs of the files that were modified since the scan before.
func (f *Files) show(scan int64, found map[string]listedFile) (modified []string) {
	completer := f.completion(found)
	r := &f.server.features
	r.update(kindResources, func() ([]feature, bool) {
		if scan < f.shown {
			return nil, false
		}
		touched := f.withdraw(r, found)
		for uri, now := range found {
			old := f.listed[uri]
			if old.resource != nil && now.size == old.size && now.modified.Equal(old.modified) {
				found[uri] = old
				continue
			}
			if taken := r.features[kindResources][uri]; taken != nil && taken != feature(old.resource) {
				delete(found, uri) // the author has registered something else there
				continue
			}
			if old.resource != nil {
				modified = append(modified, uri)
			}
			touched = append(touched, r.place(kindResources, now.resource)...)
		}
		f.shown, f.listed = scan, found
		f.completer.Store(completer)
		return touched, true
	})
	slices.Sort(modified)
	return modified
}

// withdraw drops what is listed and was not found again. The caller holds the
// lock of the registry.
func (f *Files) withdraw(r *registry, found map[string]listedFile) (touched []feature) {
	for uri, old := range f.listed {
		_, stays := found[uri]
		if !stays && r.features[kindResources][uri] == feature(old.resource) {
			seen, _ := r.drop(kindResources, uri)
			touched = append(touched, seen...)
		}
	}
	return touched
}

// completion returns a completer of the paths that a scan has found.
func (f *Files) completion(found map[string]listedFile) *Completer {
	var paths []string
	for uri := range found {
		p, ok := f.pathOf(uri)
		if !ok || p == "." {
			continue
		}
		if strings.HasSuffix(uri, "/") {
			p += "/"
		}
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return new(Prefix(paths...))
}

// scan returns what there is to list.
func (f *Files) scan() (map[string]listedFile, error) {
	entries, err := f.tree.walk()
	if err != nil {
		return nil, err
	}
	found := make(map[string]listedFile, len(entries))
	for _, e := range entries {
		uri := f.uri(e)
		r := &resource{read: f.read, def: mcp.Resource{
			URI: uri, Name: e.path, MIMEType: e.mimeType(),
			Annotations: &mcp.Annotations{LastModified: e.modified().Format(time.RFC3339)},
		}}
		if !e.isDir() {
			r.def.Size = new(e.info.Size())
		}
		if e.path == "." {
			r.def.Name = f.name
		}
		for _, o := range f.options {
			o.resource(r)
		}
		found[uri] = listedFile{r, e.info.Size(), e.modified()}
	}
	return found, nil
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

// pathOf returns the path below the root that a URI names, and false when it names
// none. Other spellings of a URI than ours name the same path.
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
