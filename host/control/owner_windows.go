package control

import "io/fs"

// isOwn is always true: on Windows each user has a directory of their own for temporary
// files.
func isOwn(fs.FileInfo) bool { return true }
