package cli

import (
	"context"
	"flag"
	"slices"
)

// verb is one thing that the program does.
type verb interface {
	// declare declares the flags of the verb.
	declare(f *flag.FlagSet)
	// run does it, with the operands that were given.
	run(ctx context.Context, m *Main, operands []string) error
}

// entry is a verb as the user finds it.
type entry struct {
	name     string
	operands string // after the name
	does     string // one line
	about    string // what else there is to know
	example  string // without the name of the program
	make     func() verb
}

// verbs are in the order in which help lists them.
var verbs = []entry{
	upEntry, stdioEntry, addEntry, importEntry, connectEntry, configEntry, approveEntry, authEntry,
	serversEntry, toolsEntry, callEntry, resourcesEntry, readEntry, promptsEntry, promptEntry, completeEntry, watchEntry,
	completionEntry, versionEntry,
}

// find returns the entry of a verb, or nil. The flags that people try in place
// of two of them are taken too.
func find(name string) *entry {
	switch name {
	case helpEntry.name, "-h", "--help":
		return &helpEntry
	case "--version":
		name = versionEntry.name
	}
	i := slices.IndexFunc(verbs, func(e entry) bool { return e.name == name })
	if i < 0 {
		return nil
	}
	return &verbs[i]
}
