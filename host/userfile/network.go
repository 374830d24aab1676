package userfile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// CheckLocal returns an error for a path in the file of a project that leads to another machine:
// by itself, such as \\host\share\file, or on Windows by a symbolic link. To look at a file there
// would make Windows send the user's credentials to a machine that the project chose. The machines
// and shares of the project, of the user's home directory and of the user's PATH are accepted.
// So is every path without a project, because the user's own files are trusted.
func CheckLocal(path, project string) error {
	if project == "" {
		return nil
	}
	n := network{slashes: runtime.GOOS == "windows", readlink: os.Readlink}
	n.accepted = func() []string {
		home, _ := os.UserHomeDir()
		return append(filepath.SplitList(os.Getenv("PATH")), project, home)
	}
	volume := n.leadsTo(path)
	if volume == "" {
		return nil
	}
	return fmt.Errorf("%s leads to another machine, %s: found in the file of a project, want a path on this machine, or the server in your own file: Windows would send your credentials there", path, volume)
}

// network finds the paths that lead to other machines.
type network struct {
	slashes  bool // separate the names of a path as backslashes do
	readlink func(path string) (string, error)
	accepted func() []string // paths whose machines and shares are accepted
}

// leadsTo returns the machine and share to which a path leads by itself or by a symbolic link. It
// is empty for this machine and what is accepted. Links are looked at from the first name of the
// path on, so that none behind a link to another machine is.
func (n network) leadsTo(path string) (volume string) {
	path = filepath.Clean(path) // Windows follows ".." before links
	for range maxLinks {
		if volume := networkVolume(path, n.slashes); volume != "" && !n.accepts(volume) {
			return volume
		}
		if !n.slashes { // elsewhere such a target is a name
			return ""
		}
		next, isLink := n.withoutFirstLink(path)
		if !isLink {
			return ""
		}
		path = next
	}
	return "by more than " + fmt.Sprint(maxLinks) + " symbolic links"
}

func (n network) accepts(volume string) bool {
	return slices.ContainsFunc(n.accepted(), func(path string) bool { return networkVolume(path, n.slashes) == volume })
}

// withoutFirstLink replaces the first symbolic link in a path of Windows by what it leads to.
func (n network) withoutFirstLink(path string) (next string, isLink bool) {
	drive := len(filepath.VolumeName(path))
	if len(path) > 1 && path[1] == ':' {
		drive = 2
	}
	for i := drive + 1; i <= len(path); i++ {
		if i < len(path) && !n.isSeparator(path[i]) {
			continue
		}
		target, err := n.readlink(path[:i])
		switch {
		case err != nil:
			continue
		case networkVolume(target, n.slashes) != "", len(target) > 1 && target[1] == ':':
		case target != "" && n.isSeparator(target[0]):
			target = path[:drive] + target
		default:
			target = path[:strings.LastIndexFunc(path[:i], func(r rune) bool { return n.isSeparator(byte(r)) })+1] + target
		}
		next = target + path[i:]
		if networkVolume(next, n.slashes) == "" {
			next = filepath.Clean(next)
		}
		return next, true
	}
	return path, false
}

func (n network) isSeparator(c byte) bool { return c == '\\' || n.slashes && c == '/' }

// networkVolume returns the machine and share with which a path of Windows begins, such as
// \\host\share, in small letters. It is empty for a path of this machine. A path of a device
// other than a drive counts as one of another machine, because some devices lead there.
func networkVolume(path string, slashes bool) string {
	if slashes {
		path = strings.ReplaceAll(path, "/", `\`)
	}
	if !strings.HasPrefix(path, `\\`) && !strings.HasPrefix(path, `\??\`) {
		return ""
	}
	path = strings.ToLower(path)
	for _, prefix := range []string{`\\?\`, `\\.\`, `\??\`} {
		device, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		if rest, ok := strings.CutPrefix(device, `unc\`); ok {
			path = `\\` + rest
			break
		}
		isDrive := len(device) > 1 && device[1] == ':' || strings.HasPrefix(device, "volume{")
		if isDrive && !strings.Contains(device+`\`, `\..\`) { // which may lead to another device
			return ""
		}
		name, _, _ := strings.Cut(device, `\`)
		return prefix + name
	}
	machine, rest, _ := strings.Cut(strings.TrimLeft(path, `\`), `\`)
	if machine == "" {
		return ""
	}
	share, _, _ := strings.Cut(strings.TrimLeft(rest, `\`), `\`)
	return `\\` + machine + `\` + share
}
