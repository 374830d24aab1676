package commandfiles

import (
	"path/filepath"
	"slices"
	"strings"
)

// plainPrograms start another program, and read no files of the working directory by themselves.
var plainPrograms = func() map[string]bool {
	all := make(map[string]bool)
	for _, name := range strings.Fields(`env nohup nice ionice setsid stdbuf time timeout caffeinate sudo doas unbuffer chronic xvfb-run cross-env firejail bwrap cmd
		flock script su runuser setpriv unshare nsenter chroot taskset numactl tini dumb-init gosu su-exec strace ltrace xargs tee cat echo sleep true false kill exec cd`) {
		all[name] = true
	}
	return all
}()

// ownFiles notes that a program may read files that the host does not know. This holds for every
// program that is no interpreter and has no other note.
func (c *codeFinder) ownFiles(name, download string) {
	_, isInterpreter := interpreterNamed(name)
	isProse := c.texts > 0 && isKnown(name)
	isInterpreter = isInterpreter && name != "nodemon" && name != "electron"
	isScript := slices.Contains(codeSuffixes, filepath.Ext(name)) // of which its modules are named
	if download != "" || isInterpreter || isScript || isProse || plainPrograms[name] {
		return
	}
	c.note("what %s reads in its working directory by itself", name)
}

// isKnown reports whether what a program runs is found among its arguments.
func isKnown(name string) bool {
	return isInterpreterOrWrapper(name) || configurationFiles[name] != nil || startupFiles[name] != nil || environmentLoaders[name] || slices.Contains(containerPrograms, name)
}
