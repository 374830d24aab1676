package config

import (
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var (
	// reference matches a reference. "$${" stands for "${".
	reference = regexp.MustCompile(`\$?\$\{[^}]*\}`)
	// curly matches references of opencode, plain those of Gemini CLI and Copilot CLI, and percent
	// those of Gemini CLI.
	curly    = regexp.MustCompile(`\{(env|file):([^}]*)\}`)
	plain    = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	percent  = regexp.MustCompile(`%([A-Za-z_][A-Za-z0-9_]*)%`)
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// literalReferences are the references that stand for directories and characters.
var literalReferences = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/", "$"}

// isHostSecret reports whether a variable has keys or passwords of the host itself. On Windows the case of names
// does not count.
func isHostSecret(variable string) bool {
	return strings.EqualFold(variable, mcpserver.KeysVariable) || strings.EqualFold(variable, userKeyVariable) || strings.EqualFold(variable, storeVariable)
}

// userKeyVariable is userkey.Variable; that package is on a higher floor.
const userKeyVariable = "FONDACO_USER_KEY"

// storeVariable is the address of the store of the host, which may have a password.
const storeVariable = "FONDACO_STORE"

const hostSecretError = "the variable %s has secrets of the host, which no server gets; want another variable"

// referenceForms lists the valid references for error messages.
const referenceForms = "${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, ${file:PATH}, ${workspaceFolder} or ${userHome}"

// expand replaces the references in a text by their values. Values are not expanded
// again. The arguments of a program may refer to the variables in own, which may be nil:
// clients that expand arguments themselves know no others. Codex does not expand.
func (r *resolver) expand(f field, own map[string]string) string {
	if isTOML(r.path) {
		return f.text + r.variableAfter(f)
	}
	var expanded strings.Builder
	for literal, ref := range r.references(f) {
		expanded.WriteString(literal)
		if ref != "" {
			expanded.WriteString(r.lookup(ref, f, own))
		}
	}
	return expanded.String() + r.variableAfter(f)
}

// references splits the text of a field: it yields the text before each reference with the
// reference, and at last the text after them. "~" is the reference to the home directory.
func (f *file) references(in field) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		text := in.text
		if in.home && startsAtHome(text) {
			if !yield("", "~") {
				return
			}
			text = text[1:]
		}
		more := f.otherReferences(in)
		for {
			at := nextReference(text, more)
			if at == nil {
				yield(text, "")
				return
			}
			if !yield(text[:at[0]], text[at[0]:at[1]]) {
				return
			}
			text = text[at[1]:]
		}
	}
}

// variableAfter returns the value of the field's variable.
func (r *resolver) variableAfter(f field) string {
	if f.variable == "" {
		return ""
	}
	return r.variable(host.Reference{Kind: host.VariableReference, Name: f.variable}, true, f, nil)
}

// nextReference returns the position of the first reference in a text, of any or of the other forms.
func nextReference(text string, others []*regexp.Regexp) []int {
	first := reference.FindStringIndex(text)
	for _, other := range others {
		if at := other.FindStringIndex(text); at != nil && (first == nil || at[0] < first[0]) {
			first = at
		}
	}
	return first
}

// otherReferences returns the additional patterns of references in a field of this file.
func (f *file) otherReferences(in field) (others []*regexp.Regexp) {
	x := f.expansion()
	if x.plain || in.plain {
		others = append(others, plain)
	}
	if x.curly {
		others = append(others, curly)
	}
	if in.percent {
		others = append(others, percent)
	}
	return others
}

// lookup returns the value of a reference. A reference without a value is an error: a
// server that is started with an empty key fails later and less clearly.
func (r *resolver) lookup(ref string, f field, own map[string]string) string {
	literal, parsed, required := r.parseReference(ref, f)
	switch parsed.Kind {
	case host.VariableReference:
		return r.variable(parsed, required, f, own)
	case host.InputReference:
		if r.partial {
			r.checkInput(parsed.Name, f)
			return "${input:" + parsed.Name + "}"
		}
		return r.input(parsed.Name, f)
	case host.FileReference:
		if r.partial {
			return "${file:" + parsed.Name + "}"
		}
		return r.fileText(parsed.Name, f)
	}
	return literal
}

// parseReference parses a reference of any format. For a directory, a character or an escape it
// returns the literal text. A variable that is required has no default.
func (r *resolver) parseReference(ref string, f field) (literal string, parsed host.Reference, required bool) {
	variableOf := func(name string) (string, host.Reference, bool) {
		return "", host.Reference{Kind: host.VariableReference, Name: name}, true
	}
	fileOf := func(path string) (string, host.Reference, bool) {
		if err := userfile.CheckLocal(path, r.workspace); err != nil {
			r.addError(f.at, "%v", err)
		}
		return "", host.Reference{Kind: host.FileReference, Name: r.referencedFile(path)}, false
	}
	switch {
	case ref == "~":
		return r.place("userHome", f), parsed, false
	case strings.HasPrefix(ref, "%"):
		return variableOf(strings.Trim(ref, "%"))
	case strings.HasPrefix(ref, "$$"):
		return ref[1:], parsed, false
	case strings.HasPrefix(ref, "{file:"):
		return fileOf(ref[len("{file:") : len(ref)-1])
	case strings.HasPrefix(ref, "{"):
		return variableOf(ref[len("{env:") : len(ref)-1])
	case !strings.HasPrefix(ref, "${"):
		return variableOf(ref[1:])
	}
	inner := ref[2 : len(ref)-1]
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	switch kind, rest, _ := strings.Cut(inner, ":"); {
	case strings.HasPrefix(inner, "env:"):
		return variableOf(rest)
	case kind == "file":
		return fileOf(rest)
	case kind == "input":
		return "", host.Reference{Kind: host.InputReference, Name: rest}, true
	case slices.Contains(literalReferences, inner):
		return r.place(inner, f), parsed, false
	case variable.MatchString(name):
		return "", host.Reference{Kind: host.VariableReference, Name: name, Default: fallback}, !hasFallback
	}
	r.addError(f.at, "found %s, want %s", ref, referenceForms)
	return "", parsed, false
}

func (r *resolver) variable(ref host.Reference, required bool, f field, own map[string]string) string {
	if isHostSecret(ref.Name) {
		r.addError(f.at, hostSecretError, ref.Name)
		return ""
	}
	if v, ok := r.env(ref.Name); ok {
		return v
	}
	if v, ok := own[ref.Name]; ok {
		return v
	}
	if required {
		want := ", or a default as in ${" + ref.Name + ":-text}"
		if isTOML(r.path) {
			want = ""
		}
		r.addError(f.at, "the variable %s is not set, want it in the environment of the host%s", ref.Name, want)
	}
	return ref.Default
}

func (r *resolver) place(name string, f field) string {
	switch name {
	case "userHome":
		return home(r.env)
	case "pathSeparator", "/":
		return string(os.PathSeparator)
	case "$":
		return "$"
	}
	if r.workspace == "" {
		r.addError(f.at, "found ${%s}, which is defined only in the file of a project; want a path", name)
		return ""
	}
	if name == "workspaceFolderBasename" {
		return filepath.Base(r.workspace)
	}
	return r.workspace
}

// referencedFile returns the absolute path of a file, for ${file:PATH} and opencode's {file:PATH}.
func (r *resolver) referencedFile(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(home(r.env), rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.absolute), path)
	}
	return filepath.Clean(path)
}

// fileText returns the content of a file, without space around it.
func (r *resolver) fileText(path string, f field) string {
	err := userfile.CheckLocal(path, r.workspace)
	var content []byte
	if err == nil {
		content, err = readText(path)
	}
	if err != nil {
		r.addError(f.at, "%v", err)
	}
	return strings.TrimSpace(string(content))
}

// parseEnv parses lines of NAME=VALUE. Comments, "export" and quotes are as in shells,
// but nothing is expanded. If a line is invalid it returns its number.
func parseEnv(content string) (variables map[string]string, fault int) {
	variables = make(map[string]string)
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		if line == "" || line[0] == '#' {
			continue
		}
		name, text, ok := strings.Cut(line, "=")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		if !ok || !variable.MatchString(name) {
			return variables, i + 1
		}
		variables[name] = unquoteEnv(text)
	}
	return variables, 0
}

func unquoteEnv(text string) string {
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') {
		if end := strings.IndexByte(text[1:], text[0]); end >= 0 {
			quoted := text[1 : 1+end]
			if text[0] == '"' {
				quoted = strings.ReplaceAll(quoted, `\n`, "\n")
			}
			return quoted
		}
	}
	text, _, _ = strings.Cut(text, " #")
	return strings.TrimSpace(text)
}

// variableOf is the name of the environment variable that can hold an input.
func variableOf(id string) string {
	return "FONDACO_INPUT_" + strings.ToUpper(notInVariables.ReplaceAllString(id, "_"))
}

var notInVariables = regexp.MustCompile(`[^A-Za-z0-9]`)
