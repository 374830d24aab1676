package approval

import (
	"path/filepath"
	"slices"
)

// configurations adds the files of the working directory with which a program decides what it
// runs, or from where it gets that.
func (c *codeFinder) configurations(name string) {
	for _, base := range c.bases {
		for _, file := range configurationFiles[name] {
			if at := filepath.Join(base, file); c.isRegular(at) {
				c.add(RoleScript, at)
			}
		}
	}
}

// configurationFiles are the files in the working directory of a program that decide which code
// it runs, or where it downloads that.
var configurationFiles = map[string][]string{
	"npm": {"package.json", ".npmrc"}, "npx": {".npmrc"}, "pnpm": {"package.json", ".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"}, "pnpx": {".npmrc", ".pnpmfile.cjs"},
	"yarn": {"package.json", ".yarnrc", ".yarnrc.yml", ".npmrc"}, "bun": {"package.json", "bunfig.toml", ".npmrc"}, "bunx": {"bunfig.toml", ".npmrc"},
	"uv": {"uv.toml", "pyproject.toml", "uv.lock"}, "uvx": {"uv.toml", "pyproject.toml"}, "poetry": {"pyproject.toml"}, "pdm": {"pyproject.toml"}, "hatch": {"pyproject.toml", "hatch.toml"},
	"pipenv": {"Pipfile"}, "bundle": {"Gemfile"}, "mise": {"mise.toml", ".mise.toml"}, "direnv": {".envrc"}, "deno": {"deno.json", "deno.jsonc"},
	"tsx": {"tsconfig.json"}, "ts-node": {"tsconfig.json"}, "make": {"GNUmakefile", "makefile", "Makefile"}, "cargo": {"Cargo.toml", ".cargo/config.toml"},
}

// searched returns the working directories and all directories above them, also those above
// what a symbolic link leads to: a program sees its working directory without links.
func (c *codeFinder) searched() (all []string) {
	for _, base := range c.bases {
		for _, dir := range []string{base, followed(base)} {
			for ; !slices.Contains(all, dir); dir = filepath.Dir(dir) {
				all = append(all, dir)
			}
		}
	}
	return all
}
