package approval

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Subject is what an approval covers: a server as it would be started or connected to now.
type Subject struct {
	// Name is the key of the upstream, and File the configuration file that names it.
	Name string `json:"name"`
	File string `json:"file,omitzero"`
	// Project is the directory of the project that the file belongs to. It is empty for the
	// files of the user.
	Project string `json:"project,omitzero"`
	// One of the two is set.
	Program *Program `json:"program,omitzero"`
	Remote  *Remote  `json:"remote,omitzero"`
}

// describe returns the subject of an upstream. It returns nil for an upstream that is part
// of the host. The error says why the upstream cannot be started.
func (s *Store) describe(ctx context.Context, u *host.Upstream) (*Subject, *commandfiles.Found, error) {
	t, isProgram := u.Target.(*mcpclient.CommandTarget)
	if !isProgram && u.Source == nil {
		return nil, nil, nil
	}
	key, err := s.key(ctx)
	if err != nil {
		return nil, nil, err
	}
	subject := &Subject{Name: u.Key, File: u.Origin.File, Project: u.Origin.Project}
	var files *commandfiles.Found
	if isProgram {
		subject.Program, files, err = s.program(u, t, key)
	} else {
		subject.Remote, err = s.remote(u, key)
	}
	if err == nil {
		_, err = json.Marshal(subject) // fails for paths that are not UTF-8, which would be mistaken for each other
	}
	if err != nil {
		return nil, nil, err
	}
	return subject, files, nil
}

// String returns the command, or the origin of the URL, in one line.
func (s *Subject) String() string {
	if s.Remote != nil {
		return s.Remote.origin()
	}
	return s.CommandLine()
}

// CommandLine returns the command, quoted for a shell, or the whole URL, with references
// unexpanded.
func (s *Subject) CommandLine() string {
	if s.Remote != nil {
		return host.EscapeUnprintable(s.Remote.URL)
	}
	return quotedWords(append([]string{s.Program.Command}, s.Program.Args...))
}

// covers returns the canonical JSON of what the approval of a subject covers. What Data and
// NotCovered say follows from the rest and from files that may change.
func (s *Subject) covers() []byte {
	covered := *s
	if s.Program != nil {
		program := *s.Program
		program.Data, program.NotCovered = nil, nil
		covered.Program = &program
	}
	text, err := json.Marshal(covered, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("approval: %v", err)) // cannot happen: it holds strings, which were UTF-8 in the file
	}
	return text
}

func (s *Subject) equal(other *Subject) bool { return bytes.Equal(s.covers(), other.covers()) }

// check returns an error for a subject that covers nothing, which no record may have.
func (s *Subject) check() error {
	if (s.Program == nil) == (s.Remote == nil) {
		return errors.New("it has neither a program nor a remote server")
	}
	return nil
}
