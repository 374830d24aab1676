package spawn

import "syscall"

// browserCommand returns the program that opens URLs, and the arguments before a
// URL. It is not cmd.exe, which would read the URL as commands.
func browserCommand() []string { return []string{"rundll32.exe", "url.dll,FileProtocolHandler"} }

// inOwnGroup keeps events that the console sends to our process group from the
// browser.
func inOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
