package commandfiles

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "files of one server that run; size of one; files that are searched for in its arguments and variables; commands among its arguments", maxCodeFiles, claim.Bytes(maxCodeSize), maxLookups, maxCommands)
	claim.Limit(t, "a file of recipes, of Compose or of settings that is searched for the files that it names; documents of a file of Compose", claim.Bytes(maxSearched), maxDocuments)
	claim.Limit(t, "a `package.json`; the list of what is installed in a `node_modules`", claim.Bytes(maxManifest), claim.Bytes(maxLock))
	claim.Limit(t, "packages in a directory that uv gets as `--find-links` or an index; files of a directory of variables", maxArchives, maxVariableFiles)
	claim.Limit(t, "an argument, or the value of a variable, that is searched for files", claim.Bytes(maxVariable))
	claim.Limit(t, "directories in which a command may run programs", maxBases)
	claim.Limit(t, "programs behind each other: an interpreter of an interpreter, a command of a command", maxDepth)
}
