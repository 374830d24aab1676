package cli

import (
	"context"
	"flag"
	"slices"
)

// command is one command of the program.
type command interface {
	// declare declares the flags.
	declare(f *flag.FlagSet)
	// run runs the command with its operands.
	run(ctx context.Context, m *Main, operands []string) error
}

// commandInfo describes a command for help and dispatch.
type commandInfo struct {
	name     string
	operands string // after the name
	does     string // one line
	about    string // further help
	example  string // without the name of the program
	make     func() command
}

// commands are in the order of the help.
var commands = []commandInfo{
	upEntry, openEntry, stdioEntry, addEntry, setEntry, rootsEntry, removeEntry, importEntry, connectEntry, configEntry, approveEntry, approvalsEntry, lockEntry, inboxEntry, answerEntry, grantsEntry, authEntry, revokeEntry, auditEntry, policyEntry,
	serversEntry, toolsEntry, callEntry, resourcesEntry, readEntry, promptsEntry, promptEntry, completeEntry, watchEntry,
	doctorEntry, checkEntry, inspectEntry, recordEntry, replayEntry, diffEntry, reportEntry, completionEntry, versionEntry,
}

// find returns the command of a name, or nil. The flags --help and --version work like
// the commands.
func find(name string) *commandInfo {
	switch name {
	case helpEntry.name, "-h", "--help":
		return &helpEntry
	case "--version":
		name = versionEntry.name
	}
	i := slices.IndexFunc(commands, func(e commandInfo) bool { return e.name == name })
	if i < 0 {
		return nil
	}
	return &commands[i]
}
