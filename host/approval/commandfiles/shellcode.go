package commandfiles

import "strings"

// splitCode splits code for a shell into commands and their words, without the files that it
// writes to. Quotes separate words, too, because the text may be code in another language that
// has a command in a string. The same code always has the same words in memory.
func (c *codeFinder) splitCode(text string) [][]string {
	commands, ok := c.code[text]
	if !ok {
		commands = splitCode(text)
		c.code[text] = commands
	}
	return commands
}

// plainCode replaces what a shell replaces without knowing more.
var plainCode = strings.NewReplacer("${PWD}", ".", "$PWD", ".", `""`, "", "''", "")

func splitCode(text string) (commands [][]string) {
	text = plainCode.Replace(text)
	var words []string
	start, isTarget := -1, false // of a word; the next word is a file to write to
	endWord := func(at int) {
		if start >= 0 && !isTarget {
			words = append(words, text[start:at])
		}
		isTarget = isTarget && start < 0
		start = -1
	}
	endCommand := func(at int) {
		endWord(at)
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words, isTarget = nil, false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\"'", c) >= 0:
			endWord(i)
		case c == '>':
			endWord(i)
			isTarget = true
		case c == '&' && i > 0 && text[i-1] == '>', c == '|' && i > 0 && text[i-1] == '>': // 2>&1, >|
		case strings.IndexByte(";&|()`\n{}<", c) >= 0:
			if c == '<' {
				endWord(i)
			} else {
				endCommand(i)
			}
		case start < 0:
			start = i
		}
	}
	endCommand(len(text))
	return commands
}
