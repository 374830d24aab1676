package spawn

import "syscall"

// opener is the program that opens addresses, and its arguments before one. It is
// not cmd.exe, which would read them as commands.
func opener() []string { return []string{"rundll32.exe", "url.dll,FileProtocolHandler"} }

// apart keeps the browser out of what the console sends to our group.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
