package terminal

import "golang.org/x/sys/windows"

func dropTypeahead(console int) { _ = windows.FlushConsoleInputBuffer(windows.Handle(console)) }
