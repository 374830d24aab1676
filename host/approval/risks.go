package approval

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// risk is a pattern in the command of a program that is unusual for a server and dangerous.
type risk struct {
	// programs are the names of the programs that it concerns; none stands for all.
	programs []string
	// in matches an argument, or, with whole, all words of the command with a space between them.
	in    *regexp.Regexp
	whole bool
	text  string
}

var (
	containers = []string{"docker", "podman", "nerdctl"}
	risks      = []risk{
		{in: regexp.MustCompile(`(^|[;&|(]\s*|/s?bin/|-c )(sudo|doas|su|pkexec|runas)( |$)`), whole: true, text: "it runs with the rights of another user"},
		{in: regexp.MustCompile(`\b(curl|wget|iwr|Invoke-WebRequest)\b.*\|\s*(sudo\s+)?(env\s+)?\S*(sh|bash|python3?|node|iex)\b`), whole: true, text: "it runs what it downloads"},
		{in: regexp.MustCompile(`\b(sh|bash|zsh)\b.*<\(\s*(curl|wget)\b`), whole: true, text: "it runs what it downloads"},
		{in: regexp.MustCompile(`\bbase64\s+(-d|-D|--decode)\b|\beval\b|-EncodedCommand\b`), whole: true, text: "it runs code that cannot be read here"},
		{in: regexp.MustCompile(`(^|[;&|(]\s*|/s?bin/|-c )(rm\s+-\w*[rR]|mkfs|dd\s+.*of=/dev/|shutdown|reboot)`), whole: true, text: "it deletes data, or stops the machine"},
		{programs: containers, in: regexp.MustCompile(`^--(privileged(=true)?|(pid|ipc|userns|uts)=host|cap-add.*|device.*|security-opt.*)$`), text: "its container has rights of the machine"},
		{programs: containers, in: regexp.MustCompile(`^(--net(work)?=)?host$`), text: "its container is in the network of the machine"},
		{programs: containers, in: regexp.MustCompile(`(^|=|source=|src=)/(:|,|$)|/(docker|podman)\.sock`), text: "its container reaches all files or containers of the machine"},
		{programs: []string{"deno"}, in: regexp.MustCompile(`^(-A|--allow-all)$`), text: "it runs without the sandbox of Deno"},
		{in: regexp.MustCompile(`^--(no-sandbox|disable-web-security|dangerously-\S+)$`), text: "it switches a protection off"},
	}
)

// Risks names what is dangerous in the command of a program: words that few servers need, each with what it can do.
// They are no part of what an approval covers, and what is not named is not safe thereby.
func (s *Subject) Risks() (found []string) {
	if s.Program == nil {
		return nil
	}
	words := append([]string{s.Program.Command}, s.Program.Args...)
	all := strings.Join(words, " ")
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(s.Program.Command)), ".exe")
	for _, r := range risks {
		if len(r.programs) > 0 && !slices.Contains(r.programs, name) {
			continue
		}
		part := ""
		if r.whole {
			part = strings.Trim(strings.TrimPrefix(r.in.FindString(all), "-c "), " ;&|(")
		} else if i := slices.IndexFunc(words[1:], r.in.MatchString); i >= 0 {
			part = words[1+i]
		}
		if part != "" {
			found = append(found, r.text+": "+part)
		}
	}
	return found
}
