package commandfiles

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// configurations adds the files with which a program decides what it runs, or from where it
// gets that: those of the working directory and of all directories above it, although most
// programs read only the nearest one.
func (c *codeFinder) configurations(name string) {
	for _, dir := range slices.Concat(c.searched(), c.homes()) {
		for _, file := range configurationFiles[name] {
			if c.isUsersOwn(dir, file) {
				continue
			}
			if at := filepath.Join(dir, filepath.FromSlash(file)); c.isRegular(at) {
				c.add(RoleScript, at)
				switch {
				case recipeFlags[name] != nil && filepath.Base(at) != ".env":
					c.recipe(name, at)
				case slices.Contains(namingFiles, filepath.Base(at)):
					c.namedBy(at)
				}
			}
		}
	}
}

// namingFiles are configuration files that name code which is loaded, such as the release of
// Yarn, modules that bun loads first, the shell of npm, or what a recipe runs.
var namingFiles = []string{".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bunfig.toml", ".bunfig.toml", ".envrc"}

// namedBy adds the code that a configuration names.
func (c *codeFinder) namedBy(file string) {
	text := unescaped(string(c.settingsText(file)))
	isBun := strings.HasSuffix(file, "bunfig.toml")
	if isBun {
		c.noteBunPackages(file, text)
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return isShellSeparator(r) || strings.ContainsRune("[]{}:", r) }) {
		for _, at := range c.readings(word, filepath.Dir(file)) {
			if isBun && strings.Contains(text, "preload") {
				at = cmp.Or(c.loadedModule(file, at), at)
			}
			if !c.found.has(at) && c.isRegular(at) && (isCode(at) || slices.Contains(loadingFiles, filepath.Base(file))) {
				c.add(RoleScript, at)
			}
		}
	}
}

// noteBunPackages names what the settings of bun may have it load from other places.
func (c *codeFinder) noteBunPackages(file, text string) {
	for _, word := range []string{"preload", "cache", "Dir"} {
		if strings.Contains(text, word) {
			c.note("packages and caches that %s names", file)
			return
		}
	}
}

// loadingFiles are configuration files that name code whatever the names of the files are.
var loadingFiles = []string{".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bunfig.toml", ".bunfig.toml"}

// loadedModule returns the file that bun loads for a path in its configuration, which may lack the
// suffix. It is empty if there is none.
func (c *codeFinder) loadedModule(file, at string) string {
	if at == filepath.Dir(file) {
		return ""
	}
	return c.scriptFile(interpreter{suffixes: []string{".tsx", ".jsx", ".ts", ".mts", ".cts", ".mjs", ".cjs", ".js", ".json"}}, at)
}

// nodeSettings and the like are files that several programs read.
var (
	nodeSettings   = []string{".npmrc"}
	pnpmSettings   = []string{".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpm-workspace.yaml", "pnpm/rc", ".config/pnpm/rc"}
	bunSettings    = []string{".npmrc", "bunfig.toml", ".bunfig.toml", ".env", ".env.local", ".env.development", ".env.development.local", ".env.production", ".env.production.local"}
	uvSettings     = []string{"uv.toml", "uv/uv.toml", ".config/uv/uv.toml", "pyproject.toml", ".python-version", ".python-versions"}
	pipSettings    = []string{"pip/pip.conf", ".config/pip/pip.conf", ".pip/pip.conf"}
	dotnetSettings = []string{"nuget.config", "NuGet.config", "NuGet.Config", "global.json", "Directory.Build.props", "Directory.Build.targets"}
	miseSettings   = []string{
		"mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", "mise/config.toml", ".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml", ".tool-versions",
	}
)

// configurationFiles are the files beside or above a program that decide which code it runs, or
// where it downloads that.
var configurationFiles = map[string][]string{
	"npm": append([]string{"package.json"}, nodeSettings...), "npx": nodeSettings, "pnpm": append([]string{"package.json"}, pnpmSettings...), "pnpx": pnpmSettings,
	"yarn": {"package.json", ".yarnrc", ".yarnrc.yml", ".npmrc", ".pnp.cjs", ".pnp.loader.mjs"}, "bun": append([]string{"package.json"}, bunSettings...), "bunx": bunSettings,
	"uv": append([]string{"uv.lock"}, uvSettings...), "uvx": uvSettings, "pipx": pipSettings, "poetry": {"pyproject.toml", "poetry.toml", "poetry.lock"},
	"pdm": {"pyproject.toml", "pdm.toml", ".pdm.toml", ".pdm-python", "pdm.lock"}, "hatch": {"pyproject.toml", "hatch.toml"}, "pipenv": {"Pipfile", "Pipfile.lock", ".env"},
	"bundle": {"Gemfile", "Gemfile.lock", "gems.rb", "gems.locked", ".bundle/config"}, "mise": miseSettings, "rtx": miseSettings, "asdf": {".tool-versions"},
	"volta": {"package.json"}, "run-s": {"package.json"}, "run-p": {"package.json"}, "npm-run-all": {"package.json"}, "nr": {"package.json"}, "fnm": {".node-version", ".nvmrc"}, "pyenv": {".python-version"}, "rbenv": {".ruby-version"}, "direnv": {".envrc", ".env"}, "dotenv": {".env"},
	"deno": {"deno.json", "deno.jsonc", "deno.lock", "package.json", ".npmrc"}, "tsx": {"tsconfig.json"}, "ts-node": {"tsconfig.json"}, "make": {"GNUmakefile", "makefile", "Makefile", "BSDmakefile"}, "just": {"justfile", "Justfile", "JUSTFILE", ".justfile", ".env"}, "rake": {"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"},
	"task":  {".taskrc.yml", ".taskrc.yaml", "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"},
	"cargo": {"Cargo.toml", "Cargo.lock", ".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"}, "go": {"go.mod", "go.work"},
	"dotnet": dotnetSettings, "dnx": dotnetSettings, "nix": {"flake.nix", "flake.lock"},
	"dotenvx": {".env", ".env.vault"}, "env-cmd": {".env", ".env-cmdrc", ".env-cmdrc.json", ".env-cmdrc.js"}, "foreman": {"Procfile", ".env", ".foreman"}, "honcho": {"Procfile", ".env"},
}

// usersOwn are files in the home directory that programs write when the user signs in or
// chooses a version. They are the user's own and no project's, and to cover their content
// would ask after each login: who can change them can also change what the shell of the user
// runs.
var usersOwn = []string{".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".bundle/config", ".pip/pip.conf", ".tool-versions"}

// isUsersOwn reports whether a file in a directory is one of usersOwn in the home directory of
// the user, unless that is the project.
func (c *codeFinder) isUsersOwn(dir, file string) bool {
	if c.home == "" || c.project == c.home || dir != c.home && dir != userfile.RealPath(c.home) {
		return false
	}
	return strings.HasPrefix(file, ".config/") || slices.Contains(usersOwn, file)
}

// homes returns the directories in which a program looks for the settings of the user because
// a variable says so.
func (c *codeFinder) homes() (dirs []string) {
	for _, name := range []string{"HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA"} {
		value := c.env[name]
		if value == "" {
			continue
		}
		for _, at := range c.places(value) {
			if at != c.home && !slices.Contains(dirs, at) {
				c.note("the settings of programs in %s, because of %s", at, name)
				dirs = append(dirs, at)
			}
		}
	}
	return dirs
}

// decidingFlags are flags of runners and package managers whose value is a file that decides
// what they run or install.
var decidingFlags = []string{
	"--userconfig", "--globalconfig", "--npmrc-auth-file", "--config-file", "--use-yarnrc", "--pnpmfile", "--global-pnpmfile", "--env-file", "--env-file-if-exists",
	"--with-requirements", "--requirements", "--constraints", "--overrides", "--build-constraints", "--import-map",
	"--requirement", "--constraint", "--override", "--build-constraint",
}

// filesOfFlags adds the files that decidingFlags and recipeFlags name.
func (c *codeFinder) filesOfFlags(name string, args []string) {
	for i, arg := range args {
		recipe := shortValue(arg, args, i, recipeFlags[name])
		for _, at := range c.places(argumentOf(arg, args, i, decidingFlags...)) {
			c.addRegular(at)
		}
		for _, at := range c.places(recipe) {
			c.recipe(name, at)
		}
	}
}

// searched returns the working directories and all directories above them, also those above
// what a symbolic link leads to: a program sees its working directory without links.
func (c *codeFinder) searched() (all []string) {
	for _, base := range c.bases {
		for _, dir := range []string{base, userfile.RealPath(base)} {
			for ; !slices.Contains(all, dir); dir = filepath.Dir(dir) {
				all = append(all, dir)
			}
		}
	}
	return all
}
