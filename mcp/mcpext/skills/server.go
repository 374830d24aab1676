package skills

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options are the options of Serve. Nil means the defaults.
type Options struct {
	// Cache is how long clients may cache entries and files. Default: not at
	// all, private.
	Cache mcpserver.Cache
	// PageSize is the number of entries on one page of a list, and of children on
	// one page of a directory. Default: 50.
	PageSize int
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

func (o *Options) pageSize() int { return max(cmp.Or(o.orZero().PageSize, 50), 1) }

func (o *Options) hints() mcp.Caching {
	scope := mcp.CachePrivate
	if o.orZero().Cache.Public {
		scope = mcp.CachePublic
	}
	return mcp.CacheFor(o.orZero().Cache.TTL, scope)
}

// Skills are the skills of one server. It is safe for concurrent use.
type Skills struct {
	srv     *mcpserver.Server
	fsys    fs.FS
	o       *Options
	scans   atomic.Int64 // numbers the scans in the order in which they begin
	catalog atomic.Pointer[catalog]

	mu    sync.Mutex
	shown int64 // guarded by mu: number of the scan that is served
}

// Serve adds the extension to a server and serves every skill in fsys. A skill is a
// directory with a SKILL.md. Its path in fsys is its path in URIs, and the last name of
// the path is the name of the skill, so the root of fsys must not have a SKILL.md. Each
// SKILL.md is listed as a resource; other files of skills are read by their URIs. Files
// outside of skills, and names that begin with a dot, are not served.
//
// Serve and each Rescan read the entries. A file that was modified since then is not
// served until the next Rescan, because it does not match its entry.
//
// Serve returns an error for an invalid skill: its name or its frontmatter (at most 64 KiB
// of YAML, without anchors and tags) is invalid, it exceeds MaxFiles or MaxBytes, or it
// has something that is neither a file nor a directory, such as a symbolic link. Use
// os.Root.FS for a directory in which others may create links; os.DirFS would follow them.
// Serve panics if the server has the extension already.
//
// Spec: ext-skills stable
func Serve(srv *mcpserver.Server, fsys fs.FS, o *Options) (*Skills, error) {
	s := &Skills{srv: srv, fsys: fsys, o: new(*o.orZero())}
	first, err := scan(fsys)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	s.catalog.Store(first)
	srv.Extend(mcpserver.Extension{
		ID: ID, Settings: jsontext.Value(`{"directoryRead":true}`), Sessions: true, OneSided: true,
		Requests: map[string]mcpserver.ExtensionRequest{
			MethodList:          {Handler: s.list},
			MethodGet:           {Handler: s.get},
			MethodDirectoryRead: {Handler: s.directory},
		},
	})
	srv.BatchChanges(func() {
		srv.AddTemplate(mcp.ResourceTemplate{
			URITemplate: scheme + "{+path}", Name: "skills", Description: "A file of a skill, or a directory of files.",
		}, s.read, mcpserver.CacheResource(o.orZero().Cache))
		err = s.offer(first, &catalog{})
	})
	return s, err
}

// Rescan reads all skills again. Clients are notified of added and removed skills, and
// subscribers of each modified file. If Rescan returns an error, the served skills do not
// change. If several calls run concurrently, the result of the one that began last is
// served.
func (s *Skills) Rescan() error {
	n := s.scans.Add(1)
	now, err := scan(s.fsys)
	if err != nil {
		return fmt.Errorf("skills: %w", err)
	}
	modified, err := s.show(n, now)
	for _, uri := range modified {
		s.srv.Updated(uri)
	}
	return err
}

// show serves the result of a scan, unless that of a later one is served already. It
// returns the URIs of modified files.
func (s *Skills) show(n int64, now *catalog) (modified []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < s.shown {
		return nil, nil
	}
	s.shown = n
	before := s.catalog.Swap(now)
	for uri, f := range now.files {
		if old, ok := before.files[uri]; ok && old.Digest != f.Digest {
			modified = append(modified, uri)
		}
	}
	s.srv.BatchChanges(func() { err = s.offer(now, before) })
	slices.Sort(modified)
	return modified, err
}

// offer registers the resources of added skills and removes those of removed ones.
func (s *Skills) offer(now, before *catalog) error {
	for _, old := range before.skills {
		if now.skill(old.URI) == nil {
			s.srv.RemoveResource(old.URI)
		}
	}
	for _, skill := range now.skills {
		f := now.files[skill.URI]
		if before.files[skill.URI].Digest == f.Digest {
			continue
		}
		if err := s.srv.SetResource(f.def, s.read, mcpserver.CacheResource(s.o.orZero().Cache)); err != nil {
			return fmt.Errorf("skills: %w", err)
		}
	}
	return nil
}

// read handles resources/read for files and directories of skills. It looks up the URI as
// a whole, so that no URI can lead to another file.
func (s *Skills) read(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	c := s.catalog.Load()
	contents := mcp.ResourceContents{URI: p.URI, MIMEType: directoryType}
	if children, ok := c.dirs[p.URI]; ok {
		for _, child := range children {
			contents.Text += child.URI + "\n"
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
	}
	f, ok := c.files[p.URI]
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	data, err := read(s.fsys, f.path, f.Size)
	if err != nil || digestOf(data) != f.Digest {
		return nil, mcp.Errorf(mcp.CodeInternal, "resource %q: was modified since it was listed", f.URI)
	}
	contents.MIMEType = f.def.MIMEType
	if utf8.Valid(data) {
		contents.Text = string(data)
	} else {
		contents.Blob = data
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

// listResult is one page of skills/list.
type listResult struct {
	mcp.ResultBase
	mcp.Caching
	Skills     []*Skill `json:"skills"`
	NextCursor *string  `json:"nextCursor,omitzero"`
}

// list handles skills/list.
//
// Spec: ext-skills stable#listing-skills
func (s *Skills) list(_ context.Context, r *mcpserver.Request) (any, error) {
	var p mcp.ListParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	page, next, err := pageOf(s.catalog.Load().skills, func(k *Skill) string { return k.URI }, p.Cursor, s.o.pageSize())
	if err != nil {
		return nil, err
	}
	return &listResult{Caching: s.o.hints(), Skills: page, NextCursor: next}, nil
}

type getParams struct {
	URI string `json:"uri"`
}

type getResult struct {
	mcp.ResultBase
	mcp.Caching
	Skill *Skill `json:"skill"`
}

// get handles skills/get.
//
// Spec: ext-skills stable#getting-a-skill
func (s *Skills) get(_ context.Context, r *mcpserver.Request) (any, error) {
	var p getParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	skill := s.catalog.Load().skill(p.URI)
	if skill == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: no skill is served at this URI", r.Method())
	}
	return &getResult{Caching: s.o.hints(), Skill: skill}, nil
}

type directoryParams struct {
	URI    string  `json:"uri"`
	Cursor *string `json:"cursor,omitzero"`
}

type directoryResult struct {
	mcp.ResultBase
	Resources  []mcp.Resource `json:"resources"`
	NextCursor *string        `json:"nextCursor,omitzero"`
}

// directory handles resources/directory/read.
//
// Spec: ext-skills stable#reading-directories
func (s *Skills) directory(_ context.Context, r *mcpserver.Request) (any, error) {
	var p directoryParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	children, ok := s.catalog.Load().dirs[p.URI]
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: no directory is served at this URI", r.Method())
	}
	page, next, err := pageOf(children, func(r mcp.Resource) string { return r.URI }, p.Cursor, s.o.pageSize())
	if err != nil {
		return nil, err
	}
	return &directoryResult{Resources: page, NextCursor: next}, nil
}
