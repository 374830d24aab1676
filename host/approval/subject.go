package approval

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// Subject is what an approval covers: a server as it would be started or connected to now.
type Subject struct {
	// Name is the key of the upstream, and File the configuration file that names it.
	Name string `json:"name"`
	File string `json:"file,omitzero"`
	// Project is the directory of the project that the file belongs to. It is empty for the
	// files of the user.
	Project string `json:"project,omitzero"`
	// Roots are the directories of the configuration that the server gets as roots. The approval of a
	// project's server covers them; the file of the user can change them.
	Roots []Root `json:"roots,omitempty"`
	// One of the two is set.
	Program *Program `json:"program,omitzero"`
	Remote  *Remote  `json:"remote,omitzero"`
}

// Root is a directory that a server gets as a root.
type Root struct {
	// Path is that of the configuration, absolute, and Target the directory that it leads to if it has symbolic
	// links.
	Path   string `json:"path"`
	Target string `json:"target,omitzero"`
}

// String returns the path, and where it leads to.
func (r Root) String() string {
	if r.Target == "" {
		return r.Path
	}
	return r.Path + " (leads to " + r.Target + ")"
}

// Program is a program as it would be started.
type Program struct {
	// Command and Args are those of the configuration, with references unexpanded.
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// Dir is the absolute working directory, and DirTarget the directory that it leads to
	// if it has symbolic links.
	Dir       string `json:"dir"`
	DirTarget string `json:"dirTarget,omitzero"`
	// Files are those that run, the program first.
	Files []commandfiles.File `json:"files"`
	// Data are files among the arguments that do not run. Their content is not covered.
	Data []string `json:"data,omitempty"`
	// EnvFile is the environment file. Its variables are among Variables.
	EnvFile   string     `json:"envFile,omitzero"`
	Variables []Variable `json:"variables,omitempty"`
	// NotCovered says what runs and is covered by no digest.
	NotCovered []string `json:"notCovered,omitempty"`
	// Concerns says what is unusual: files outside of the project whose content the program gets.
	Concerns []string `json:"concerns,omitempty"`
}

// Remote is a server at a URL.
type Remote struct {
	// URL is that of the configuration, with references unexpanded. Its query and what
	// follows a password are not shown to others.
	URL       string     `json:"url"`
	Transport string     `json:"transport"`
	Headers   []Variable `json:"headers,omitempty"`
	SignIn    []Variable `json:"signIn,omitempty"`
	// Sends says which variables, inputs and files leave the machine, and where in the
	// request.
	Sends []string `json:"sends,omitempty"`
	// Concerns says what is unusual: files outside of the project, and addresses that only
	// this machine or its network can reach.
	Concerns []string `json:"concerns,omitempty"`
}

// Variable is a variable, a header or another named text of the configuration.
type Variable struct {
	Name string `json:"name"`
	// From is the text with its references unexpanded, if it has any and no other content.
	From string `json:"from,omitzero"`
	// Digest is a keyed digest of a text that is in the configuration.
	Digest string `json:"digest,omitzero"`
	// References are what the text refers to.
	References []host.Reference `json:"references,omitempty"`

	// Value is the text if it decides which code runs. It is shown, and not stored.
	Value string `json:"-"`
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
// NotCovered say follows from the rest and from files that may change. Roots in the user's own file
// are the user's decision already.
func (s *Subject) covers() []byte {
	covered := *s
	if covered.Project == "" {
		covered.Roots = nil
	}
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

// origin returns the URL without what may be a secret: a user, the path and the query.
func (r *Remote) origin() string {
	scheme, _, ok := strings.Cut(r.URL, "://")
	if !ok {
		return host.EscapeUnprintable(r.URL)
	}
	if scheme == "unix" {
		return host.EscapeUnprintable(r.URL)
	}
	authority := authorityOf(r.URL)
	return host.EscapeUnprintable(scheme + "://" + authority[strings.LastIndex(authority, "@")+1:])
}

// kind names what a subject is.
func (s *Subject) kind() string {
	if s.Remote != nil {
		return "a remote server"
	}
	return "a program"
}

// quotedWords writes arguments as in a shell.
func quotedWords(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = host.ShellQuote(w)
	}
	return strings.Join(quoted, " ")
}
