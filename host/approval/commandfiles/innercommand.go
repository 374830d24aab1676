package commandfiles

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// maxCommands limits the commands that are searched for among the arguments of a server.
const maxCommands = 256

// foundCommand is a command among the arguments that was searched for: its words in memory, and
// where it was searched for.
type foundCommand struct {
	first *string
	words int
	path  string
	bases int
}

// codeFlag matches flags of many programs whose value is code for a shell: "su -c CODE".
var codeFlag = regexp.MustCompile(`^(-[A-Za-z]*c|--command|--call|--exec|--cmd|--run|--shell-command)$`)

// commandsAmong regards the arguments of a program as the command of another one wherever that
// may begin, because the program may start it: at the name of an interpreter or of a program
// that starts or downloads others, at a file that can be executed, behind "--", and in code for
// a shell.
func (c *codeFinder) commandsAmong(program string, args []string, depth int) {
	_, isInterpreter := interpreterNamed(program) // which says so itself
	for i, arg := range args {
		flag, code, _ := strings.Cut(arg, "=")
		switch {
		case c.err != nil:
			return
		case i > 0 && codeFlag.MatchString(args[i-1]):
			code = arg
			fallthrough
		case codeFlag.MatchString(flag) && code != "":
			if isCommand := c.shellCode(c.splitCode(code), depth); isCommand && !isInterpreter {
				c.note("what the code %s runs", host.ShellQuote(code))
			}
		case strings.ContainsAny(arg, " \t\n"):
			c.commandsInText(c.splitCode(arg), depth)
		case i > 0 && args[i-1] == "--":
			c.innerCommand(args[i:], depth)
		case c.startsPrograms(arg):
			c.guess(args[i:], depth)
		}
	}
}

// startsPrograms reports whether an argument names a program whose arguments are read in a
// special way, or an executable file.
func (c *codeFinder) startsPrograms(arg string) bool {
	name := withoutVersion(arg)
	if filepath.Base(name) == name {
		return isKnown(programName(name))
	}
	return len(c.lookUpInner(arg)) > 0
}

// shellCode regards the commands of code that a program gives to a shell, and reports whether
// there are any.
func (c *codeFinder) shellCode(commands [][]string, depth int) (isCommand bool) {
	isCommand = len(commands) > 1
	for _, words := range commands {
		for _, word := range words {
			c.settingAssigned(word)
		}
		for len(words) > 1 && (assignment.MatchString(words[0]) || slices.Contains(beforeCommands, words[0])) {
			c.assignedInCode(words[0])
			words = words[1:]
		}
		for i, word := range words { // such as those of export
			c.assignedInCode(word)
			if i > 0 && (words[i-1] == "source" || words[i-1] == ".") {
				for _, at := range c.places(word) {
					c.addRegular(at)
				}
			}
		}
		isCommand = isCommand || len(words) > 1 || len(c.lookUpInner(words[0])) > 0
		if isCommand {
			c.innerCommand(words, depth)
		}
		for i, word := range words {
			if c.startsPrograms(word) {
				c.guess(words[i:], depth)
			}
		}
	}
	return isCommand
}

// assignedInCode is assigned for code, of which the order is not regarded: directories are added
// to the PATH, and none is taken away.
func (c *codeFinder) assignedInCode(word string) {
	before := c.path
	c.assigned(word)
	if c.path != before {
		c.path += string(filepath.ListSeparator) + before
	}
}

// beforeCommands are words of a shell before a command.
var beforeCommands = []string{"exec", "command", "builtin", "eval", "if", "then", "elif", "else", "while", "until", "do", "!"}

// commandsInText regards the words of a text that may be code. Most such texts are prose, in
// which names of package managers mean nothing.
func (c *codeFinder) commandsInText(commands [][]string, depth int) {
	c.texts++
	defer func() { c.texts-- }()
	for _, words := range commands {
		for i, word := range words {
			switch {
			case isInterpreterOrWrapper(programName(word)):
				c.guess(words[i:], depth)
			case strings.Contains(word, ":") && isInterpreterOrWrapper(programName(word[strings.LastIndex(word, ":")+1:])): // EXEC:CODE
				c.guess(append([]string{word[strings.LastIndex(word, ":")+1:]}, words[i+1:]...), depth)
			case len(word) > 2 && word[0] == '-' && isInterpreterOrWrapper(programName(word[2:])): // -cCODE
				c.guess(append([]string{word[2:]}, words[i+1:]...), depth)
			}
		}
	}
}

// guess is innerCommand for words that may not be a command. What such a command would need and
// is not there is not noted.
func (c *codeFinder) guess(words []string, depth int) {
	c.guesses++
	c.innerCommand(words, depth)
	c.guesses--
}

// innerCommand finds the files of a command that another program may start.
func (c *codeFinder) innerCommand(words []string, depth int) {
	key := foundCommand{&words[0], len(words), c.path, len(c.bases)}
	if depth >= maxDepth || c.commands[key] || c.err != nil {
		return
	}
	if len(c.commands) == maxCommands {
		c.err = fmt.Errorf("its arguments can be more than %d commands", maxCommands)
		return
	}
	c.commands[key] = true
	programs := c.lookUpInner(words[0])
	for _, file := range programs {
		role := RoleInterpreter
		if filepath.Base(words[0]) != words[0] && !isKnown(programName(userfile.RealPath(file))) {
			role = RoleScript
		}
		c.run(role, file, depth+1)
		c.argumentsOf(file, words[1:], depth+1)
	}
	if name := withoutVersion(words[0]); len(programs) == 0 && isKnown(programName(name)) { // it may be downloaded
		c.arguments(name, words[1:], depth+1)
	}
}
