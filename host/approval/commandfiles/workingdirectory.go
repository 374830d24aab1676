package commandfiles

import (
	"slices"
	"strings"
)

// workingDirectoryFlags are the flags of wrappers and package managers whose value is the
// directory in which they run a program.
var workingDirectoryFlags = []string{"--directory", "--cwd", "--prefix", "--project", "--chdir", "--dir", "--cd", "--workspace", "-C"}

// maxBases limits the working directories of one command.
const maxBases = 16

// directories adds the directories among the arguments in which a program may be run.
func (c *codeFinder) directories(args []string) {
	for i, arg := range args {
		dirs := []string{argumentOf(arg, args, i, workingDirectoryFlags...)}
		if rest, ok := strings.CutPrefix(arg, "-C"); ok {
			dirs = append(dirs, rest)
		}
		if words := strings.FieldsFunc(arg, isShellSeparator); len(words) > 1 { // code for a shell
			for j, word := range words[:min(len(words), maxCodeFiles)] {
				if (word == "cd" || word == "pushd") && j+1 < len(words) {
					dirs = append(dirs, words[j+1])
				}
			}
		}
		for _, dir := range dirs {
			if dir != "" {
				c.directory(dir)
			}
		}
	}
}

// directory adds a directory, which is relative to each of those that are known.
func (c *codeFinder) directory(dir string) {
	for _, at := range c.places(dir) {
		switch {
		case slices.Contains(c.bases, at) || !c.isDir(at):
		case len(c.bases) == maxBases:
			c.note("what runs in %s, because there are more directories than are searched", at)
		default:
			c.bases = append(c.bases, at)
		}
	}
}
