package cli

var NotifyContext = notifyContext
