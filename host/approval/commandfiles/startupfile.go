package commandfiles

import (
	"path/filepath"
	"slices"
	"strings"
)

// startupFiles are the files that interpreters load from the working directory by themselves.
var startupFiles = map[string][]string{
	"rscript": {".Rprofile", ".Renviron"}, "r": {".Rprofile", ".Renviron"}, "octave": {".octaverc"}, "erl": {".erlang"}, "escript": {".erlang"}, "iex": {".iex.exs"},
	"fastmcp": {"fastmcp.json", ".env"},
	"bb":      {"bb.edn", "deps.edn"}, "clojure": {"deps.edn"}, "clj": {"deps.edn"}, "julia": {"Project.toml", "JuliaProject.toml", "Manifest.toml", "LocalPreferences.toml"},
	"gdb": {".gdbinit"}, "ghci": {".ghci"}, "irb": {".irbrc"}, "ocaml": {".ocamlinit"},
}

// startup adds the startupFiles of a program.
func (c *codeFinder) startup(name string, args []string) {
	files := startupFiles[name]
	if name == "node" && slices.Contains(args, "--experimental-default-config-file") {
		files = []string{"node.config.json"}
	}
	for _, file := range files {
		for _, base := range c.bases {
			c.addRegular(filepath.Join(base, file))
		}
		for _, arg := range args { // some look beside the script
			if at := absolute(arg, c.dir); !strings.HasPrefix(arg, "-") && c.isRegular(at) {
				c.addRegular(filepath.Join(filepath.Dir(at), file))
			}
		}
	}
}
