// Package repository checks the files of the repository itself: which package imports which, what source code
// must not do, that README.md runs, and that pages name tests and limits that exist. It has tests only, which
// run in the root of the repository.
package repository
