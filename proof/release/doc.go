// Package release checks the archives that make release writes to bin/release, and the recipe of the image. It has
// tests only, which make release-check runs on Linux: the program of an archive starts in a root directory that has
// nothing else, so does the image whose base is scratch, and a clone of the commit gives the same archives.
package release
