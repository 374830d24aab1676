package commandfiles

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxManifest is the size of a package.json in bytes up to which it is read.
const maxManifest = 4 << 20

// manifest has the members of a package.json.
type manifest map[string]jsontext.Value

// lenient are the options of JavaScript, so that what it accepts is no reason to find nothing.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// manifest reads the package.json of a directory. A server with a larger one is not started,
// because what it names could not be found.
func (a *fileAccess) manifest(dir string) (m manifest, ok bool) {
	at := filepath.Join(dir, "package.json")
	text := a.start(at, maxManifest+1)
	if len(text) > maxManifest && a.err == nil {
		a.err = fmt.Errorf("%s has more than %d bytes", at, maxManifest)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return m, json.Unmarshal(text, &m, lenient) == nil
}

// text returns a member that is a string.
func (m manifest) text(name string) (text string) {
	_ = json.Unmarshal(m[name], &text, lenient)
	return text
}

// name returns the name of the package, without the spaces around it that npm ignores.
func (m manifest) name() string { return strings.Trim(m.text("name"), " \t\r\n\v\f\u00a0\ufeff") }

// texts returns the strings of a member that is an object.
func (m manifest) texts(name string) map[string]string {
	members, texts := m.members(name), make(map[string]string)
	for name := range members {
		if text := members.text(name); text != "" {
			texts[name] = text
		}
	}
	return texts
}

// members returns a member that is an object.
func (m manifest) members(name string) (members manifest) {
	_ = json.Unmarshal(m[name], &members, lenient)
	return members
}

// list returns the strings of a member that is an array.
func (m manifest) list(name string) (list []string) {
	var values []jsontext.Value
	_ = json.Unmarshal(m[name], &values, lenient)
	for _, value := range values {
		if text := (manifest{"": value}).text(""); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// programs returns the programs of a package by their names, which npm shortens to the part
// behind the last separator.
func (m manifest) programs() map[string]string {
	programs := make(map[string]string)
	if single := m.text("bin"); single != "" {
		programs[path.Base(m.name())] = single
	}
	for _, file := range m.list("bin") {
		programs[path.Base(file)] = file
	}
	for name, file := range m.texts("bin") {
		programs[path.Base(strings.NewReplacer("\\", "/", ":", "/").Replace(name))] = file
	}
	return programs
}

// programs returns the programs of the package in a directory by their names, also those that
// are there because they are in its directory of programs.
func (a *fileAccess) programs(dir string, m manifest) map[string]string {
	programs := m.programs()
	if bin := m.texts("directories")["bin"]; bin != "" {
		a.programsBelow(dir, path.Clean(bin), 0, programs)
	}
	return programs
}

func (a *fileAccess) programsBelow(dir, bin string, depth int, programs map[string]string) {
	for _, name := range a.names(filepath.Join(dir, filepath.FromSlash(bin))) {
		file := path.Join(bin, name)
		switch at := filepath.Join(dir, filepath.FromSlash(file)); {
		case a.isRegular(at):
			if _, ok := programs[name]; ok {
				name = file // both may run
			}
			programs[name] = file
		case depth < maxDepth:
			a.programsBelow(dir, file, depth+1, programs)
		}
	}
}

// sortedFiles returns the files of programs in a constant order.
func sortedFiles(programs map[string]string) []string { return slices.Sorted(maps.Values(programs)) }
