package notify

import "path/filepath"

// script shows the notification that two variables describe, for ten seconds.
const script = `Add-Type -AssemblyName System.Windows.Forms; ` +
	`$n = New-Object System.Windows.Forms.NotifyIcon; $n.Icon = [System.Drawing.SystemIcons]::Information; $n.Visible = $true; ` +
	`$n.ShowBalloonTip(10000, $env:FONDACO_TITLE, $env:FONDACO_TEXT, 'Info'); Start-Sleep -Seconds 4; $n.Dispose()`

// find returns the program of the system, and the variables that it needs.
func find(env func(string) (string, bool)) (program string, needs []string) {
	root, _ := env("SystemRoot")
	if !filepath.IsAbs(root) {
		return "", nil
	}
	return filepath.Join(root, "System32", "WindowsPowerShell", "v1.0", "powershell.exe"),
		[]string{"SystemRoot", "SystemDrive", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "windir"}
}

// arguments returns the arguments of the program. The texts are in variables, because it reads
// its arguments as a program of its own language.
func arguments(title, text string) (args, variables []string) {
	return []string{"-NoProfile", "-NonInteractive", "-Command", script}, []string{"FONDACO_TITLE=" + title, "FONDACO_TEXT=" + text}
}
