package commandfiles

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// nodeSettingNames are the settings of package managers that decide which code runs, and from
// where it is. They are flags as well.
var nodeSettingNames = []string{
	"package", "call", "workspace", "workspaces", "filter", "filter-prod", "recursive", "cache", "prefix", "userconfig", "globalconfig", "npmrc-auth-file", "script-shell",
	"shell", "node-options", "git", "node-gyp", "npm-path", "yarn-path", "pnpmfile", "global-pnpmfile", "dir", "cwd", "use-yarnrc", "cache-dir", "cache-folder", "store-dir",
	"virtual-store-dir", "modules-dir", "modules-folder", "global-dir", "global-bin-dir", "global-folder", "workspace-dir", "deferred-version-folder", "install-state-path",
}

// settingFiles are the files that have them, one a line.
var settingFiles = []string{".npmrc", "rc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml"}

// shortSettings are the flags of one letter of a manager for some of them.
var shortSettings = map[string]map[string]string{
	"npm": shortNpmSettings, "npx": shortNpmSettings, "pnpm": {"C": "dir", "F": "filter", "r": "recursive"}, "bun": {"F": "filter"},
}

var shortNpmSettings = map[string]string{"p": "package", "c": "call", "w": "workspace", "ws": "workspaces", "C": "prefix"}

// settings returns what the settings of a package manager say in files, variables and flags, as
// flags with a value in the same word.
func (c *codeFinder) settings(name string, args []string) (all []string) {
	add := func(flags []string) {
		for _, flag := range flags {
			if !slices.Contains(all, flag) {
				all = append(all, flag)
			}
		}
	}
	for {
		bases, count := len(c.bases), len(all)
		add(c.settingsOfFlags(name, args))
		add(c.settingsOfVariables())
		for _, dir := range slices.Concat(c.searched(), c.homes()) {
			for _, file := range configurationFiles[name] {
				if slices.Contains(settingFiles, filepath.Base(file)) && !c.isUsersOwn(dir, file) {
					add(c.settingsOfFile(filepath.Join(dir, filepath.FromSlash(file))))
				}
			}
		}
		for i, flag := range all {
			for _, base := range c.bases {
				if at := argumentOf(flag, all, i, "--userconfig", "--globalconfig", "--use-yarnrc", "--npmrc-auth-file"); at != "" {
					add(c.settingsOfFile(absolute(at, base)))
				}
			}
		}
		c.directories(all)
		c.workspaces(args, all)
		if len(c.bases) == bases && len(all) == count || c.err != nil {
			return all
		}
	}
}

// settingsOfFlags returns the settings among arguments, for whose flags npm accepts any
// unambiguous beginning.
func (c *codeFinder) settingsOfFlags(manager string, args []string) (flags []string) {
	for i, arg := range ownArguments(manager, args) {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg == name || name == "" {
			continue
		}
		if !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			value = args[i+1]
		}
		if long := shortSettings[manager][name]; long != "" && !strings.HasPrefix(arg, "--") {
			name = long
		}
		for _, known := range nodeSettingNames {
			if known == name || len(name) > 2 && strings.HasPrefix(known, name) && !slices.Contains(nodeSettingNames, name) {
				flags = append(flags, c.setting(known, value))
			}
		}
	}
	return flags
}

// settingsOfVariables returns the settings that variables have, whose names npm regards in any
// case.
func (c *codeFinder) settingsOfVariables() (flags []string) {
	for name, value := range c.env {
		flags = append(flags, c.settingOfVariable(name, value)...)
	}
	for _, assigned := range c.tree.assigned {
		name, value, _ := strings.Cut(assigned, "=")
		flags = append(flags, c.settingOfVariable(name, value)...)
	}
	for name, cache := range cachesOfHomes {
		if home := c.env[name]; home != "" && (!filepath.IsAbs(home) || c.project != "" && userfile.IsBelow(home, c.project)) {
			flags = append(flags, c.setting("cache", filepath.Join(home, cache)))
		}
	}
	slices.Sort(flags)
	return flags
}

// cachesOfHomes are where the cache of npm is if no setting says so.
var cachesOfHomes = map[string]string{"HOME": ".npm", "USERPROFILE": ".npm", "LOCALAPPDATA": "npm-cache"}

func (c *codeFinder) settingOfVariable(name, value string) []string {
	lower := strings.ToLower(name)
	for _, prefix := range []string{"npm_config_", "pnpm_config_", "yarn_"} {
		key, ok := strings.CutPrefix(lower, prefix)
		if key = kebab(key); ok && slices.Contains(nodeSettingNames, key) {
			return []string{c.setting(key, value)}
		}
	}
	return nil
}

// settingAssigned remembers a variable that a command sets for package managers.
func (c *codeFinder) settingAssigned(word string) {
	if assignment.MatchString(word) && len(c.settingOfVariable(strings.SplitN(word, "=", 2)[0], "")) > 0 && !slices.Contains(c.tree.assigned, word) {
		c.tree.assigned = append(c.tree.assigned, word)
	}
}

// settingLine matches a line with a setting: "key = value", "key: value" or "key value", perhaps
// with quotes, or for one command of Yarn.
var settingLine = regexp.MustCompile(`^\s*(?:--(?:[a-z]+\.)?)?["']?([A-Za-z][-A-Za-z_]*)(?:\[\])?["']?\s*[=:\s]\s*(.*)$`)

// settingsOfFile returns the settings in a file.
func (c *codeFinder) settingsOfFile(file string) (flags []string) {
	for _, line := range strings.FieldsFunc(unescaped(string(c.settingsText(file))), func(r rune) bool { return r == '\n' || r == '\r' }) {
		found := settingLine.FindStringSubmatch(line)
		if found == nil || !slices.Contains(nodeSettingNames, kebab(found[1])) {
			continue
		}
		flags = append(flags, c.setting(kebab(found[1]), found[2]))
		if value, _, hasComment := strings.Cut(found[2], " #"); hasComment {
			flags = append(flags, c.setting(kebab(found[1]), value))
		}
	}
	return flags
}

var escapedCharacter = regexp.MustCompile(`\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})`)

// unescaped returns a text with the characters of its escapes, which may hide a name in quotes.
func unescaped(text string) string {
	return escapedCharacter.ReplaceAllStringFunc(text, func(escape string) string {
		code, _ := strconv.ParseUint(escape[2:], 16, 32)
		return string(rune(code))
	})
}

// settingsText returns the text of a file of settings. What is behind its limit is named.
func (c *codeFinder) settingsText(file string) []byte {
	text := c.start(file, maxSearched+1)
	if len(text) > maxSearched {
		c.note("the code that %s names, which has more than %d bytes", file, maxSearched)
	}
	return text
}

// setting returns the flag for a setting. Its value may refer to variables.
func (c *codeFinder) setting(name, value string) string {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	value = os.Expand(strings.ReplaceAll(value, "?}", "}"), func(variable string) string {
		if text, ok := c.env[variable]; ok {
			return text
		}
		return os.Getenv(variable)
	})
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = filepath.Join(c.home, rest)
	}
	return "--" + name + "=" + value
}

var upperLetter = regexp.MustCompile(`[A-Z]`)

// kebab returns a name such as yarnPath or node_options with hyphens.
func kebab(name string) string {
	name = upperLetter.ReplaceAllStringFunc(name, func(letter string) string { return "-" + strings.ToLower(letter) })
	return strings.TrimPrefix(strings.ReplaceAll(name, "_", "-"), "-")
}

// codeOfSettings adds the code that settings of a package manager name.
func (c *codeFinder) codeOfSettings(name string, settings []string, depth int) {
	c.ownCacheVariables(name)
	for i, arg := range settings {
		if options := argumentOf(arg, settings, i, "--node-options"); options != "" {
			c.textOfVariable("NODE_OPTIONS", options)
		}
		if program := argumentOf(arg, settings, i, "--script-shell", "--shell", "--git", "--node-gyp", "--npm-path", "--yarn-path"); program != "" {
			c.programOfSetting(name, program, depth)
		}
		if dir := argumentOf(arg, settings, i, otherDirectories...); dir != "" {
			c.note("what is in %s, which the settings of %s name", dir, name)
		}
	}
}

// cacheVariables are variables that say where package managers keep packages.
var cacheVariables = []string{"BUN_INSTALL", "BUN_INSTALL_CACHE_DIR", "BUN_TMPDIR", "TMPDIR", "TEMP", "TMP", "PNPM_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "COREPACK_HOME"}

// ownCacheVariables names the directories of the project in which variables make package managers
// keep packages.
func (c *codeFinder) ownCacheVariables(name string) {
	for _, variable := range cacheVariables {
		dir := c.env[variable]
		if dir != "" && c.mayLookAt(absolute(dir, c.dir)) && (!filepath.IsAbs(dir) || c.project != "" && userfile.IsBelow(userfile.RealPath(dir), userfile.RealPath(c.project))) {
			c.note("what is in %s, where %s keeps packages because of %s", dir, name, variable)
		}
	}
}

// otherDirectories are the settings for directories in which managers keep packages.
var otherDirectories = []string{
	"--cache", "--cache-dir", "--cache-folder", "--store-dir", "--virtual-store-dir", "--modules-dir", "--modules-folder", "--global-dir", "--global-bin-dir", "--global-folder",
	"--deferred-version-folder", "--install-state-path",
}

func (c *codeFinder) programOfSetting(name, program string, depth int) {
	found := c.lookUpInner(program)
	for _, file := range found {
		c.run(RoleInterpreter, file, depth+1)
	}
	for _, base := range c.bases {
		if at := absolute(program, base); strings.ContainsAny(program, `/\.`) && c.isRegular(at) {
			c.run(RoleScript, at, depth+1)
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		c.note("the program %s, which the settings of %s name", program, name)
	}
}

// ownDirectories returns the directories that a setting names and that are relative or in the
// project, so that who can change the project decides about their content.
func (c *codeFinder) ownDirectories(settings []string, flag string) (dirs []string) {
	for i, setting := range settings {
		dir := argumentOf(setting, settings, i, flag)
		if dir == "" {
			continue
		}
		for _, base := range c.bases {
			at := absolute(dir, base)
			if slices.Contains(dirs, at) || !c.isDir(at) {
				continue
			}
			isOwn := !filepath.IsAbs(dir) || c.project != "" && (userfile.IsBelow(at, c.project) || userfile.IsBelow(userfile.RealPath(at), userfile.RealPath(c.project)))
			if isOwn {
				dirs = append(dirs, at)
			}
		}
	}
	return dirs
}

// ownCaches adds the packages that npx downloaded into a cache of the project, and those in the
// directory of global packages there. It runs them in place of others.
func (c *codeFinder) ownCaches(settings, names []string, depth int) {
	for _, cache := range c.ownDirectories(settings, "--cache") {
		for _, name := range c.names(filepath.Join(cache, "_npx")) {
			c.installedPackages(filepath.Join(cache, "_npx", name, "node_modules"), names, depth)
		}
	}
	for _, prefix := range c.ownDirectories(settings, "--prefix") {
		c.programsIn(filepath.Join(prefix, "bin"), names, depth)
		c.programsIn(prefix, names, depth)
		c.installedPackages(filepath.Join(prefix, "lib", "node_modules"), names, depth)
	}
}
