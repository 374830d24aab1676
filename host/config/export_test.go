package config

// FilesOn returns the paths of the user's files on an operating system.
func (c Client) FilesOn(env Env, system string) []string { return c.files(env, system) }

// ProjectFiles returns the files of a project, relative to its directory.
func (c Client) ProjectFiles() []string { return c.project }

// MaxShownText is a limit, for the comparison with docs/limits.md.
const MaxShownText = maxShownText
