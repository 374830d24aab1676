package userfile

import "os"

// NetworkVolume is networkVolume on Windows, or on other systems.
func NetworkVolume(path string, onWindows bool) string { return networkVolume(path, onWindows) }

// LeadsTo returns the machine to which a path of Windows leads, and the paths that were looked at.
// The links are those of a map. \\corp\home is accepted.
func LeadsTo(path string, links map[string]string) (volume string, lookedAt []string) {
	n := network{slashes: true, readlink: func(path string) (string, error) {
		lookedAt = append(lookedAt, path)
		if target, ok := links[path]; ok {
			return target, nil
		}
		return "", os.ErrInvalid
	}}
	n.accepted = func() []string { return []string{`\\corp\home`} }
	return n.leadsTo(path), lookedAt
}
