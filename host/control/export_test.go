package control

// SetStreamID gives a stream of a client another id.
func SetStreamID(s Stream, id string) { s.(*openedStream).id = id }
