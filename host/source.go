package host

import (
	"context"
	"reflect"
)

// Source is what a configuration file says about an upstream, before the references to
// variables, inputs and files are replaced by their values. The user approves it.
type Source struct {
	// Command, Args and Env are those of a program. Env also has the variables of an
	// environment file.
	Command Text            `json:"command,omitzero"`
	Args    []Text          `json:"args,omitempty"`
	Env     map[string]Text `json:"env,omitempty"`
	// EnvFile is the absolute path of the environment file, if there is one, and EnvFileNames
	// are the names of the variables that have their values from it, sorted.
	EnvFile      string   `json:"envFile,omitzero"`
	EnvFileNames []string `json:"envFileNames,omitempty"`
	// URL and Headers are those of a remote server. SignIn has the texts that are sent to
	// its authorization server, by their member of "auth".
	URL     Text            `json:"url,omitzero"`
	Headers map[string]Text `json:"headers,omitempty"`
	SignIn  map[string]Text `json:"signIn,omitempty"`
}

// Text is a text of a configuration file. References are written as ${env:NAME},
// ${input:ID} and ${file:PATH}, whatever the format of the file; "$${" stands for "${", and
// "${$}" for a "$" in front of a reference. References to directories, such as
// ${workspaceFolder}, are replaced by their values.
type Text struct {
	Written    string      `json:"written,omitzero"`
	References []Reference `json:"references,omitempty"`
}

// Literal reports whether the text has no references.
func (t Text) Literal() bool { return len(t.References) == 0 }

// Reference is a reference in a Text.
type Reference struct {
	Kind ReferenceKind `json:"kind"`
	// Name is that of the variable or input, or the absolute path of the file.
	Name string `json:"name"`
	// Default is the value if the variable is not set.
	Default string `json:"default,omitzero"`
}

// ReferenceKind says what a reference refers to.
type ReferenceKind string

// The kinds of references.
const (
	VariableReference ReferenceKind = "variable" // of the environment of the host
	InputReference    ReferenceKind = "input"    // that the user enters
	FileReference     ReferenceKind = "file"     // its content
)

// Resolved returns the upstream with all references replaced by their values. It may read
// files and ask the user for inputs, so it is called only after the approval of the user.
func (u *Upstream) Resolved(ctx context.Context) (*Upstream, error) {
	if u.Resolve == nil {
		return u, nil
	}
	resolved, err := u.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	return resolved, nil
}

// Equal reports whether two upstreams are configured in the same way.
func (u *Upstream) Equal(other *Upstream) bool {
	a, b := *u, *other
	a.Resolve, b.Resolve = nil, nil // functions have no equality; what they resolve is in Source
	return reflect.DeepEqual(a, b)
}
