package audit

// nonblocking is no flag: the pipes of Windows are not in directories.
const nonblocking = 0
