package mcpserver_test

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMainLivesWithTheFlagsOfTheProgram(t *testing.T) {
	t.Parallel()
	flags := func() *flag.FlagSet {
		fs := flag.NewFlagSet("program", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		return fs
	}
	withDB := func() *flag.FlagSet {
		fs := flags()
		fs.String("db", "", "")
		return fs
	}
	parsed := func(fs *flag.FlagSet, args ...string) *flag.FlagSet {
		if err := fs.Parse(args); err != nil {
			t.Error(err)
		}
		return fs
	}
	added := func(fs *flag.FlagSet) *flag.FlagSet {
		mcpserver.AddFlags(fs)
		return fs
	}
	owned := flags()
	owned.String("http", "", "a flag of the program")
	for _, test := range []struct {
		name       string
		program    *flag.FlagSet
		args       []string
		hasFlagSet bool
		addr       string
		open       bool
		db         string
	}{
		{name: "no flags", program: flags()},
		{name: "Main's alone", program: flags(), args: []string{"-http", "localhost:1"}, addr: "localhost:1"},
		{name: "with a value", program: flags(), args: []string{"--http=localhost:1", "--insecure-no-auth"}, addr: "localhost:1", open: true},
		{name: "not parsed yet", program: withDB(), args: []string{"-db", "x", "-http", "localhost:1"}, addr: "localhost:1", db: "x"},
		{name: "added, not parsed yet", program: added(withDB()), args: []string{"-http", "localhost:1", "-insecure-no-auth", "-db", "x"}, addr: "localhost:1", open: true, db: "x"},
		{name: "parsed before", program: parsed(withDB(), "-db", "x"), args: []string{"-db", "x"}, db: "x"},
		{name: "added and parsed before", program: parsed(added(withDB()), "-db", "x", "-http", "localhost:1"), args: []string{"-db", "x", "-http", "localhost:1"}, addr: "localhost:1", db: "x"},
		{name: "another FlagSet", program: flags(), args: []string{"-db", "x", "-h", "serve", "-http", "localhost:1", "-insecure-no-auth=false"}, hasFlagSet: true, addr: "localhost:1"},
		{name: "an argument that is no flag", program: flags(), args: []string{"file", "-"}},
		{name: "after the end of the flags", program: flags(), args: []string{"--", "-http", "localhost:1"}},
		{name: "a flag of the program with our name", program: owned, args: []string{"-http", "x"}},
	} {
		addr, open, err := mcpserver.ReadMainFlags(test.program, test.args, test.hasFlagSet)
		if addr != test.addr || open != test.open || err != nil {
			t.Errorf("%s: got %q, %v, %v; want %q, %v", test.name, addr, open, err, test.addr, test.open)
		}
		if f := test.program.Lookup("db"); f != nil && f.Value.String() != test.db {
			t.Errorf("%s: got -db %q, want %q", test.name, f.Value, test.db)
		}
	}
}

func TestMainRefusesWrongValuesOfItsFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-http"}, {"-insecure-no-auth=perhaps"}} {
		if _, _, err := mcpserver.ReadMainFlags(flag.NewFlagSet("program", flag.ContinueOnError), args, false); err == nil {
			t.Errorf("%q: got nil, want an error", args)
		}
	}
	if _, _, err := mcpserver.ReadMainFlags(flag.NewFlagSet("program", flag.ContinueOnError), []string{"-h"}, false); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v, want flag.ErrHelp", err)
	}
}

func TestMainRefusesFlagsThatNothingDefines(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-htpp", ":8080"}, {"serve", "--verbose"}, {"-http", "localhost:1", "-db=x"}} {
		_, _, err := mcpserver.ReadMainFlags(flag.NewFlagSet("program", flag.ContinueOnError), args, false)
		if err == nil || !strings.Contains(err.Error(), "not defined; want -http") {
			t.Errorf("%q: got %v, want an error that names the flags of Main", args, err)
		}
	}
	program := flag.NewFlagSet("program", flag.ContinueOnError)
	program.SetOutput(io.Discard)
	program.String("db", "", "")
	if _, _, err := mcpserver.ReadMainFlags(program, []string{"-htpp", ":8080"}, false); err == nil {
		t.Error("flag.CommandLine with flags: got nil, want an error")
	}
}
