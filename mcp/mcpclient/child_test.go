package mcpclient_test

func runAsServer() {}
