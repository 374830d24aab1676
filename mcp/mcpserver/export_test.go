package mcpserver

var NotifyContext = notifyContext
