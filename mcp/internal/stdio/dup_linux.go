package stdio

import "syscall"

// dup2 is dup3 here, because not every Linux has dup2.
func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }
