package commandfiles

import "path/filepath"

// pipxPrograms adds what pipx runs for the name of a package if it is in the working
// directory: a script of that name, or a program of a package in __pypackages__.
func (c *codeFinder) pipxPrograms(name string) {
	if !filepath.IsLocal(name) {
		return
	}
	for _, base := range c.bases {
		if script := filepath.Join(base, name); c.isRegular(script) {
			c.add(RoleScript, script)
		}
		packages := filepath.Join(base, "__pypackages__")
		for _, version := range c.names(packages) {
			if program := filepath.Join(packages, version, "lib", "bin", name); c.isRegular(program) {
				c.add(RoleScript, program)
				c.note("the modules in %s, which pipx runs instead of a package that it downloads", packages)
			}
		}
	}
}
