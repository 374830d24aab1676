package skills

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Fault is the kind of a mismatch between a skill and its entry.
type Fault string

// The faults.
const (
	// FaultEntry: the entry itself is invalid.
	FaultEntry Fault = "entry"
	// FaultDynamic: the entry does not list the files.
	FaultDynamic Fault = "dynamic"
	// FaultLimits: the entry lists more than MaxFiles or MaxBytes.
	FaultLimits Fault = "limits"
	// FaultSize: a file has another length.
	FaultSize Fault = "size"
	// FaultDigest: a file has other content.
	FaultDigest Fault = "digest"
	// FaultFrontmatter: the frontmatter of SKILL.md differs.
	FaultFrontmatter Fault = "frontmatter"
	// FaultUnlisted: the skill has no such file.
	FaultUnlisted Fault = "unlisted"
)

// VerificationError means that a skill, or a file of it, does not match its
// entry and must not be used.
type VerificationError struct {
	// URI is the URI of the file, or of the skill.
	URI   string
	Fault Fault
	// Found describes what was found instead.
	Found string
}

// Error returns the URI, the fault and what was found.
func (e *VerificationError) Error() string {
	return fmt.Sprintf("skill: %q is not what the entry describes: %s: %s", e.URI, e.Fault, e.Found)
}

// Loaded is a loaded skill, bound to the server and to the entry that it was
// loaded from. It is safe for concurrent use.
type Loaded struct {
	// Skill is the entry.
	Skill Skill
	// Text is SKILL.md, with its frontmatter.
	Text string

	c     *mcpclient.Client
	paths map[string]File

	mu     sync.Mutex
	broken error // guarded by mu: the first fault of a file, which ends the use of the skill
}

// Load reads the SKILL.md of a skill and compares it with the entry: size, digest and
// every field of the frontmatter. It reads no other file. If they differ, the error is a
// *VerificationError; so it is for an entry that is invalid, too large or does not list
// the files. The caller must get the user's consent before.
//
// Spec: ext-skills stable#integrity-and-verification
func Load(ctx context.Context, c *mcpclient.Client, s *Skill) (*Loaded, error) {
	l := &Loaded{Skill: *s, c: c}
	l.Skill.Files.List = slices.Clone(s.Files.List)
	if err := l.admit(); err != nil {
		return nil, err
	}
	data, err := l.ReadFile(ctx, Manifest)
	if err != nil {
		return nil, err
	}
	fields, err := frontmatter(data)
	if err != nil {
		return nil, &VerificationError{s.URI, FaultFrontmatter, err.Error()}
	}
	if !sameJSON(fields, s.Frontmatter) {
		return nil, &VerificationError{s.URI, FaultFrontmatter, "the fields differ"}
	}
	l.Text = string(data)
	return l, nil
}

// admit checks the entry before any file is read.
func (l *Loaded) admit() error {
	s := &l.Skill
	if err := s.checkName(); err != nil {
		return &VerificationError{s.URI, FaultEntry, err.Error()}
	}
	if s.Files.Dynamic {
		return &VerificationError{s.URI, FaultDynamic, "nothing to verify files by"}
	}
	if err := s.checkLimits(); err != nil {
		return &VerificationError{s.URI, FaultLimits, err.Error()}
	}
	paths, err := s.paths()
	if err != nil {
		return &VerificationError{s.URI, FaultEntry, err.Error()}
	}
	l.paths = paths
	return nil
}

// Paths returns the paths of all files of the skill, in order.
func (l *Loaded) Paths() []string { return slices.Sorted(maps.Keys(l.paths)) }

// ReadFile reads one file of the skill by its path below the skill, such as
// references/FORMS.md, and compares it with the entry. For a path that the entry does not
// list, it sends no request, and the error is a *VerificationError. If the content differs
// from the entry, the error is one, too; then each later call returns the same error
// without a request. To continue, call Get and Load again.
func (l *Loaded) ReadFile(ctx context.Context, path string) ([]byte, error) {
	f, ok := l.paths[path]
	if !ok {
		return nil, &VerificationError{l.Skill.URI, FaultUnlisted, fmt.Sprintf("%q is not among its files", path)}
	}
	if err := l.fault(nil); err != nil {
		return nil, err
	}
	result, err := l.c.ReadResource(ctx, f.URI)
	if err != nil {
		return nil, fmt.Errorf("skill: %w", err)
	}
	data, err := verify(f, result)
	if err := l.fault(err); err != nil {
		return nil, err
	}
	return data, nil
}

// fault records the first fault and returns it.
func (l *Loaded) fault(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = err
	}
	return l.broken
}

// verify returns the content of a file if it matches the entry.
func verify(f File, r *mcp.ReadResourceResult) ([]byte, error) {
	i := slices.IndexFunc(r.Contents, func(c mcp.ResourceContents) bool { return c.URI == f.URI })
	if i < 0 {
		return nil, &VerificationError{f.URI, FaultDigest, "the server answered with another file"}
	}
	data := r.Contents[i].Blob
	if !r.Contents[i].IsBlob() {
		data = []byte(r.Contents[i].Text)
	}
	if int64(len(data)) != f.Size {
		return nil, &VerificationError{f.URI, FaultSize, fmt.Sprintf("%d bytes, want %d", len(data), f.Size)}
	}
	if got := digestOf(data); got != f.Digest {
		return nil, &VerificationError{f.URI, FaultDigest, fmt.Sprintf("%s, want %s", got, f.Digest)}
	}
	return data, nil
}
