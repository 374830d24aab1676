package approval

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
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
	Files []File `json:"files"`
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

// File is a file that runs.
type File struct {
	Role Role `json:"role"`
	// Path is absolute. Target is the file that it leads to if it has symbolic links.
	Path   string `json:"path"`
	Target string `json:"target,omitzero"`
	// SHA256 is that of the content in hexadecimal. It is empty for a file whose changes
	// need no approval, see host.Settings.Dev.
	SHA256 string `json:"sha256,omitzero"`
}

// Role says how a file takes part in a program.
type Role string

// The roles.
const (
	RoleProgram     Role = "program"     // that the command names
	RoleInterpreter Role = "interpreter" // of a script, or behind a shim
	RoleScript      Role = "script"      // that an interpreter or the program runs
	RoleText        Role = "text"        // whose content is an argument or a variable
)

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

// describe returns the subject of an upstream. It returns nil for an upstream that is part
// of the host. The error says why the upstream cannot be started.
func (s *Store) describe(ctx context.Context, u *host.Upstream) (*Subject, *startedFiles, error) {
	t, isProgram := u.Target.(*mcpclient.CommandTarget)
	if !isProgram && u.Source == nil {
		return nil, nil, nil
	}
	key, err := s.key(ctx)
	if err != nil {
		return nil, nil, err
	}
	subject := &Subject{Name: u.Key, File: u.Origin.File, Project: u.Origin.Project}
	var files *startedFiles
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

// variables describes texts by their names.
func (s *Store) variables(texts map[string]host.Text, key []byte) (all []Variable) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, describeText(name, texts[name], key))
	}
	return all
}

// describeText describes a text: a literal one, or the literal part of one with
// references, by a keyed digest, so that a stored approval reveals no secret.
func describeText(name string, text host.Text, key []byte) Variable {
	v := Variable{Name: name, References: text.References}
	if onlyReferences(text) {
		v.From = text.Written
		return v
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s\x00%s", name, text.Written)
	v.Digest = hex.EncodeToString(mac.Sum(nil))
	if text.Literal() && decidesCode(name) {
		v.Value = text.Written
	}
	return v
}

// onlyReferences reports whether a text has no literal part that could be a secret. Of
// "Bearer ${env:TOKEN}" the first word is none.
func onlyReferences(text host.Text) bool {
	if text.Literal() {
		return false
	}
	rest := text.Written
	for _, prefix := range []string{"Bearer ", "Basic ", "token "} {
		rest = strings.TrimPrefix(rest, prefix)
	}
	for _, ref := range text.References {
		if ref.Default != "" {
			return false
		}
		_, after, ok := strings.Cut(rest, ":"+ref.Name+"}")
		if !ok || strings.LastIndex(rest[:len(rest)-len(after)], "${") != 0 {
			return false
		}
		rest = after
	}
	return rest == ""
}

// codeVariables are variables that can make programs load or run other code, or use
// another directory or server. Their values are shown to the user. All values are covered.
// A trailing "*" matches all names with that prefix.
var codeVariables = []string{
	"PATH", "HOME", "LD_*", "DYLD_*", "NODE_*", "PYTHON*", "RUBY*", "PERL5*", "JAVA_*", "_JAVA_OPTIONS", "JDK_*", "CLASSPATH",
	"BASH_ENV", "ENV", "ZDOTDIR", "SHELL", "IFS", "GIT_*", "SSH_*", "npm_config_*", "NPM_CONFIG_*", "YARN_*", "UV_*", "PIP_*",
	"DOTNET_*", "GCONV_PATH", "DOCKER_*", "KUBECONFIG", "XDG_*", "EDITOR", "VISUAL", "PAGER", "BROWSER", "DENO_*", "BUN_*", "GO*",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "PYENV_*", "ASDF_*", "VOLTA_*", "NVM_*",
}

// decidesCode reports whether a variable is one of codeVariables. Names that say that they
// hold a secret are not.
func decidesCode(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"TOKEN", "SECRET", "PASS", "AUTH", "KEY", "CREDENTIAL"} {
		if strings.Contains(upper, word) {
			return false
		}
	}
	return slices.ContainsFunc(codeVariables, func(pattern string) bool {
		prefix, many := strings.CutSuffix(pattern, "*")
		return name == pattern || many && strings.HasPrefix(name, prefix)
	})
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

// shellQuote quotes a word of a command for display and for a shell. Unprintable
// characters are shown as escapes.
func shellQuote(word string) string {
	plain := word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-") == ""
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(host.EscapeUnprintable(word), "'", `'\''`) + "'"
}
