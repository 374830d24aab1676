package approval

// isAdminOnly is always false: the rights to a file are not known.
func isAdminOnly(string) bool { return false }
