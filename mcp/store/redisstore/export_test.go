package redisstore

// NewEnough reports whether a server of the version can be used.
var NewEnough = newEnough
