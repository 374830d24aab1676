package userfile

import "io/fs"

func checkInfo(string, fs.FileInfo, bool) error { return nil }

func checkOwner(string, fs.FileInfo) error { return nil }
