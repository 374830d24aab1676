package trial

// A stage holds the servers of the cells that can share them, so that a server that
// gets faster with time is not measured in its first second only.
type stage struct {
	cell    Cell // with nothing but what tells servers apart
	servers map[string]*server
}

// set stops the servers that do not suit the cell.
func (s *stage) set(c Cell) {
	apart := Cell{Mode: c.Mode, Tools: c.Tools}
	if c.Size > usualLimit {
		apart.Size = c.Size
	}
	if s.servers == nil || s.cell != apart {
		s.clear()
		s.cell, s.servers = apart, make(map[string]*server)
	}
}

func (s *stage) clear() {
	for _, r := range s.servers {
		r.stop()
	}
	s.servers = nil
}

// server returns the one of a contestant, and what is to be done after its use. Where
// sessions are counted it is a fresh one, for they pile up.
func (s *stage) server(x Contestant, c Cell) (r *server, leave func(), err error) {
	if c.Sessions > 0 {
		r, err = x.start(c)
		if err != nil {
			return nil, nil, err
		}
		return r, r.stop, nil
	}
	if r = s.servers[x.Name]; r == nil {
		if r, err = x.start(c); err != nil {
			return nil, nil, err
		}
		s.servers[x.Name] = r
	}
	return r, func() {}, nil
}
