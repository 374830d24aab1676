package mcpserver

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// AddFlags defines the flags of [Main], -http and -insecure-no-auth, in fs. Call it before fs is
// parsed, if the program parses fs, or flag.CommandLine, before it calls Main: a FlagSet refuses
// flags that are not defined. Main reads the command line itself, so that it need not know fs,
// and after AddFlags with another FlagSet than flag.CommandLine it leaves flags that it does not
// know to that FlagSet. AddFlags panics if fs has a flag of one of these names.
func AddFlags(fs *flag.FlagSet) {
	if fs != flag.CommandLine {
		hasFlagSet.Store(true)
	}
	fs.Var(new(addressFlag), httpFlag, "serve HTTP on this `address`, such as 127.0.0.1:8080, instead of stdio")
	fs.Var(new(openFlag), openFlagName, "let -http listen beyond this machine, without authentication: anyone who can connect can call every tool")
}

// hasFlagSet is true when AddFlags was called with a FlagSet of the program.
var hasFlagSet atomic.Bool

const (
	httpFlag     = "http"
	openFlagName = "insecure-no-auth"
)

// addressFlag and openFlag are the values of Main's flags. A flag of another type is one that
// the program has defined.
type (
	addressFlag string
	openFlag    bool
)

func (a *addressFlag) String() string     { return string(*a) }
func (a *addressFlag) Set(s string) error { *a = addressFlag(s); return nil }
func (o *openFlag) String() string        { return strconv.FormatBool(bool(*o)) }
func (o *openFlag) IsBoolFlag() bool      { return true }
func (o *openFlag) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("want true or false")
	}
	*o = openFlag(on)
	return nil
}

// mainFlags are the values of Main's flags.
type mainFlags struct {
	addr string
	open bool
}

// readMainFlags returns the values of Main's flags. program is flag.CommandLine. If the program
// has defined flags in it and not parsed them, readMainFlags adds Main's and parses all.
// Otherwise it looks for Main's flags in the arguments. Another flag is an error, unless program
// is parsed or the program has a FlagSet of its own (hasFlagSet). A flag that program has under
// one of Main's names belongs to the program.
func readMainFlags(program *flag.FlagSet, args []string, hasFlagSet bool) (f mainFlags, err error) {
	own := isMainFlag(program, httpFlag) && isMainFlag(program, openFlagName)
	if !program.Parsed() && hasFlags(program) && own {
		if program.Lookup(httpFlag) == nil {
			AddFlags(program)
		}
		if err := program.Parse(args); err != nil {
			return f, err
		}
		f.addr = program.Lookup(httpFlag).Value.String()
		f.open = program.Lookup(openFlagName).Value.String() == "true"
		return f, nil
	}
	if !own {
		return f, nil
	}
	alone := !program.Parsed() && !hasFlagSet // no flags but Main's
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, hasValue := splitFlag(args[i])
		switch {
		case name == httpFlag && !hasValue && i+1 < len(args):
			i++
			f.addr = args[i]
		case name == httpFlag && !hasValue:
			return f, errors.New("flag -http: the address is missing; want one such as 127.0.0.1:8080")
		case name == httpFlag:
			f.addr = value
		case name == openFlagName && !hasValue:
			f.open = true
		case name == openFlagName:
			if f.open, err = strconv.ParseBool(value); err != nil {
				return f, fmt.Errorf("flag -%s=%s: want true or false", openFlagName, value)
			}
		case alone && (name == "h" || name == "help"):
			return f, flag.ErrHelp
		case alone && name != "":
			return f, fmt.Errorf("flag -%s: not defined; want -%s or -%s", name, httpFlag, openFlagName)
		}
	}
	return f, nil
}

// isMainFlag reports whether a name is free, or a flag of AddFlags.
func isMainFlag(fs *flag.FlagSet, name string) bool {
	f := fs.Lookup(name)
	if f == nil {
		return true
	}
	switch f.Value.(type) {
	case *addressFlag, *openFlag:
		return true
	}
	return false
}

func hasFlags(fs *flag.FlagSet) (some bool) {
	fs.VisitAll(func(*flag.Flag) { some = true })
	return some
}

// splitFlag splits an argument as package flag does. name is empty if it is not a flag.
func splitFlag(arg string) (name, value string, hasValue bool) {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", "", false
	}
	return strings.Cut(strings.TrimPrefix(name, "-"), "=")
}
