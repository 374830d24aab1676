package trial

import (
	"debug/buildinfo"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
)

// entry names the version of the library that a contestant shows: of a Go program
// what it was built with, of a program for Node what is installed beside it, of our
// own the commit.
func (x Contestant) entry(m Machine) Entry {
	switch {
	case x.Module == "":
		return Entry{x.Name, m.Commit}
	case strings.HasPrefix(x.Module, "@"):
		return Entry{x.Name, x.Module + " " + installed(filepath.Dir(x.Command[len(x.Command)-1]), x.Module)}
	}
	return Entry{x.Name, x.Module + " " + builtWith(x.Command[0], x.Module)}
}

func builtWith(program, module string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "of unknown version"
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return "of unknown version"
}

func installed(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", name, "package.json"))
	var p struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(text, &p) != nil {
		return "of unknown version"
	}
	return p.Version
}
