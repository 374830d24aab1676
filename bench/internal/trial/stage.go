package trial

// A stage holds the servers of the cells that can share them, so that a server that
// gets faster with time is not measured in its first second only.
type stage struct {
	cell    Cell // only the fields that the command of a server depends on
	servers map[string]*server
}

// set stops the servers that do not suit the cell.
func (s *stage) set(c Cell) {
	apart := Cell{Mode: c.Mode, Tools: c.Tools, Procs: c.Procs}
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

// server returns the server of a contestant and a function to call after its use. Cells
// that count sessions get a new server, because sessions accumulate.
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
