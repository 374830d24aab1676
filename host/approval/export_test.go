package approval

// SetAdminOnly replaces the check whether only the administrator can write to a file.
func (s *Store) SetAdminOnly(f func(path string) bool) { s.adminOnly = f }

// SetCheckLocal replaces the check whether a path that a project names is on this machine.
func (s *Store) SetCheckLocal(f func(path, project string) error) { s.checkLocal = f }

// SetHome replaces the home directory of the user.
func (s *Store) SetHome(dir string) { s.home = dir }
