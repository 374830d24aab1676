package control

import "io/fs"

// isOwn trusts the directory for temporary files, which each user has for itself.
func isOwn(fs.FileInfo) bool { return true }
