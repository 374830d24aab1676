package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// reference matches a reference. "$${" stands for "${".
	reference = regexp.MustCompile(`\$?\$\{[^}]*\}`)
	// curly matches references of opencode, and plain those of Gemini CLI.
	curly    = regexp.MustCompile(`\{(env|file):([^}]*)\}`)
	plain    = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// directoryReferences are the references that stand for directories.
var directoryReferences = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/"}

// referenceForms lists the valid references for error messages.
const referenceForms = "${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, ${workspaceFolder} or ${userHome}"

// expand replaces the references in a text by their values. Values are not expanded
// again. The arguments of a program may refer to the variables in own, which may be nil:
// clients that expand arguments themselves know no others. Codex does not expand.
func (r *resolver) expand(f field, own map[string]string) string {
	if isTOML(r.path) {
		return f.text + r.variableAfter(f)
	}
	text := f.text
	var expanded strings.Builder
	for {
		at := r.nextReference(text)
		if at == nil {
			return expanded.String() + text + r.variableAfter(f)
		}
		expanded.WriteString(text[:at[0]])
		expanded.WriteString(r.lookup(text[at[0]:at[1]], f, own))
		text = text[at[1]:]
	}
}

// variableAfter returns the value of the field's variable.
func (r *resolver) variableAfter(f field) string {
	if f.variable == "" {
		return ""
	}
	return r.variable(f.variable, "", false, f, nil)
}

// nextReference returns the position of the first reference in a text.
func (r *resolver) nextReference(text string) []int {
	first := reference.FindStringIndex(text)
	for _, more := range r.otherReferences() {
		if at := more.FindStringIndex(text); at != nil && (first == nil || at[0] < first[0]) {
			first = at
		}
	}
	return first
}

// otherReferences returns the additional patterns of references in this file's format.
func (r *resolver) otherReferences() []*regexp.Regexp {
	switch {
	case filepath.Base(filepath.Dir(r.absolute)) == ".gemini":
		return []*regexp.Regexp{plain}
	case strings.HasPrefix(filepath.Base(r.absolute), "opencode.json"):
		return []*regexp.Regexp{curly}
	}
	return nil
}

// lookup returns the value of a reference. A reference without a value is an error: a
// server that is started with an empty key fails later and less clearly.
func (r *resolver) lookup(ref string, f field, own map[string]string) string {
	switch {
	case strings.HasPrefix(ref, "$$"):
		return ref[1:]
	case strings.HasPrefix(ref, "{file:"):
		return r.fileText(ref[len("{file:"):len(ref)-1], f)
	case strings.HasPrefix(ref, "{"):
		return r.variable(ref[len("{env:"):len(ref)-1], "", false, f, own)
	case !strings.HasPrefix(ref, "${"):
		return r.variable(ref[1:], "", false, f, own)
	}
	inner := ref[2 : len(ref)-1]
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	switch kind, rest, _ := strings.Cut(inner, ":"); {
	case strings.HasPrefix(inner, "env:"):
		return r.variable(rest, "", false, f, own)
	case kind == "input":
		return r.input(rest, f)
	case slices.Contains(directoryReferences, inner):
		return r.place(inner, f)
	case variable.MatchString(name):
		return r.variable(name, fallback, hasFallback, f, own)
	}
	r.addError(f.at, "found %s, want %s", ref, referenceForms)
	return ""
}

func (r *resolver) variable(name, fallback string, hasFallback bool, f field, own map[string]string) string {
	if v, ok := r.env(name); ok {
		return v
	}
	if v, ok := own[name]; ok {
		return v
	}
	if !hasFallback {
		r.addError(f.at, "the variable %s is not set", name)
	}
	return fallback
}

func (r *resolver) place(name string, f field) string {
	switch name {
	case "userHome":
		return home(r.env)
	case "pathSeparator", "/":
		return string(os.PathSeparator)
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

// fileText returns the content of a file, for opencode's {file:NAME}.
func (r *resolver) fileText(path string, f field) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(home(r.env), rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.absolute), path)
	}
	content, err := read(path)
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
