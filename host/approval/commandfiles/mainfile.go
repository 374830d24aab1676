package commandfiles

import "path/filepath"

// addScript adds the files that an interpreter runs for a text, and reports whether there is
// one: the file itself, one with a suffix, or the main file of a directory, in each of the
// working directories.
func (c *codeFinder) addScript(in interpreter, text string) (found bool) {
	for _, at := range c.places(text) {
		if file := c.scriptFile(in, at); file != "" {
			c.add(RoleScript, file)
			found = true
		}
	}
	return found
}

// scriptFile returns the file that an interpreter runs for a path, empty if there is none.
func (c *codeFinder) scriptFile(in interpreter, at string) string {
	for _, suffix := range append([]string{""}, in.suffixes...) {
		if c.isRegular(at + suffix) {
			return at + suffix
		}
	}
	for _, main := range c.mainFiles(at) {
		if c.isRegular(main) {
			return main
		}
	}
	return ""
}

// mainFiles returns the files that interpreters run for a directory.
func (c *codeFinder) mainFiles(dir string) (files []string) {
	if manifest, ok := c.manifest(dir); ok && manifest.text("main") != "" {
		main := filepath.Join(dir, filepath.FromSlash(manifest.text("main")))
		files = append(files, main, main+".js", filepath.Join(main, "index.js"))
	}
	return append(files, filepath.Join(dir, "index.js"), filepath.Join(dir, "__main__.py"))
}
